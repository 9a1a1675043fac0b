"""The watchdog ends ranks that wait for a straggler, and no others."""

import threading

import pytest
import torch.distributed as dist

from litebert.training.distributed.watchdog import Heartbeat, Watchdog


class Store(dist.HashStore):
    """One process's stand-in for the store that a world shares."""

    def clone(self):
        return self


class World:
    """Two watchdogs over one store; whoever leaves is remembered."""

    def __init__(self) -> None:
        store, self.left, self.gone = Store(), [], threading.Event()
        self.arrivals = [Heartbeat(), Heartbeat()]
        self.dogs = [
            Watchdog(arrivals, store, rank=rank, size=2, timeout_seconds=0.5, exit_process=self._leave)
            for rank, arrivals in enumerate(self.arrivals)
        ]

    def _leave(self, code: int) -> None:
        self.left.append(code)
        if len(self.left) == 2:
            self.gone.set()

    def __enter__(self) -> "World":
        for dog in self.dogs:
            dog.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        for dog in self.dogs:
            dog.__exit__(None, None, None)


@pytest.mark.parametrize("behind", [0, 1])
def test_watchdog_names_the_straggler_and_ends_all_ranks(caplog, behind):
    with World() as world:
        world.arrivals[1 - behind].add()
        assert world.gone.wait(10)
    assert world.left == [1, 1]
    assert f"straggler timeout: rank {behind} is behind" in caplog.text
    assert f"rank {1 - behind} is behind" not in caplog.text


def test_watchdog_logs_what_the_straggler_was_doing(caplog):
    with World() as world:
        world.arrivals[1].add()
        assert world.gone.wait(10)
    (record,) = (each for each in caplog.records if "was here" in each.message)
    assert record.message.startswith("rank 0 was here")
    assert "raise train.timeout_seconds:" in record.message
    assert "test_watchdog_logs_what_the_straggler_was_doing" in record.message


def test_watchdog_does_not_end_ranks_that_are_equally_far():
    with World() as world:
        assert not world.gone.wait(1.5)
    assert world.left == []


def test_watchdog_does_not_end_ranks_that_continue():
    with World() as world:
        for _ in range(15):
            world.arrivals[0].add()
            assert not world.gone.wait(0.1)
            world.arrivals[1].add()
    assert world.left == []


def test_watchdog_ends_with_its_store(monkeypatch):
    class Gone:
        def __init__(self, prefix, store) -> None: ...

        def set(self, key, value):
            raise dist.DistNetworkError("connection reset")

    monkeypatch.setattr(dist, "PrefixStore", Gone)
    left = []
    dog = Watchdog(Heartbeat(), Store(), rank=0, size=2, timeout_seconds=0.5, exit_process=left.append)
    with dog:
        dog._thread.join(5)
        assert not dog._thread.is_alive()
    assert left == []
