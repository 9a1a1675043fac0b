"""Asynchronous checkpoints equal synchronous ones; their failures end the run."""

import threading
from pathlib import Path

import pytest
import torch

from litebert.errors import CheckpointError
from litebert.training.checkpointing.checkpoint import AsyncCheckpointer, Checkpoint, Checkpoints
from support.models.limits import files_no_larger_than
from support.runs.callbacks import At, HookRecorder
from support.runs.toy import rows, train, trainer


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, {}, {"weight": torch.full((3,), float(step))}, {"weight/step": torch.tensor(2.0)})


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class Held(Checkpoints):
    """Checkpoints whose writing waits to be let go."""

    go = threading.Event()

    def save(self, checkpoint):
        assert self.go.wait(30)
        return super().save(checkpoint)


@pytest.fixture
def held(monkeypatch):
    monkeypatch.setattr("litebert.training.trainer.Checkpoints", Held)
    Held.go.clear()
    yield Held.go
    Held.go.set()


def test_async_checkpoint_equals_a_synchronous_one(tmp_path, monkeypatch):
    changes = {"checkpoint_every": "2 steps", "keep_checkpoints": 3, "optimizer": "lamb"}
    monkeypatch.setattr("litebert.training.trainer.time.perf_counter", lambda: 0.0)  # checkpoints hold the time
    monkeypatch.setattr("litebert.training.trainer.throughput", lambda *counts, **peak: {})
    train(tmp_path / "meanwhile", **changes)

    def start_and_wait(self, checkpoint):
        original(self, checkpoint)
        self._in_flight[1].exception()

    original = AsyncCheckpointer.start
    monkeypatch.setattr(AsyncCheckpointer, "start", start_and_wait)
    train(tmp_path / "stopping", **changes)
    written = [contents(tmp_path / name / "checkpoints") for name in ("meanwhile", "stopping")]
    assert written[0] == written[1]
    assert len(written[0]) == 3 * 4 + 1


def test_async_checkpointer_writes_one_checkpoint_while_training_continues(tmp_path, held):
    """Step 3 is done before the checkpoint of step 2 is, and that of step 4 waits for it."""
    recorder = HookRecorder()

    def let_go():
        assert not (tmp_path / "checkpoints").exists()
        held.set()

    train(tmp_path, duration="4 steps", checkpoint_every="2 steps", callbacks=[recorder, At("step", 3, let_go)])
    seen = recorder.calls
    assert seen.index(("step", 3)) < seen.index(("checkpoint", 2)) < seen.index(("checkpoint", 4))


def test_end_of_a_run_waits_for_its_checkpoint(tmp_path, held):
    threading.Timer(0.2, held.set).start()
    train(tmp_path, duration="2 steps")
    assert (tmp_path / "checkpoints" / "LATEST").read_text() == "step-00000002\n"


def test_checkpoint_failure_ends_the_run_and_leaves_the_one_before(tmp_path):
    recorder = HookRecorder()

    def fail(self, checkpoint):
        raise RuntimeError("cosmic ray")

    with pytest.MonkeyPatch.context() as monkey:
        break_saving = At("checkpoint", 5, lambda: monkey.setattr(Checkpoints, "save", fail))
        callbacks = [recorder, break_saving]
        run = trainer(tmp_path, duration="2000 steps", checkpoint_every="5 steps", callbacks=callbacks)
        with pytest.raises(CheckpointError, match=r"step-000000\d\d: could not be written .*cosmic ray.*is unchanged"):
            run.fit()
    assert recorder.calls[-1][1] < 30
    assert (tmp_path / "checkpoints" / "LATEST").read_text() == "step-00000005\n"


def test_checkpoint_failure_after_another_error_is_only_logged(tmp_path, caplog):
    def interrupted() -> None:
        with AsyncCheckpointer(Checkpoints(tmp_path, keep=1), before=lambda: 1 / 0) as saver:
            saver.start(checkpoint(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "could not be written" in caplog.text


def test_async_checkpointer_without_a_write_has_nothing_to_finish(tmp_path):
    with AsyncCheckpointer(Checkpoints(tmp_path, keep=1), before=lambda: None) as saver:
        assert not saver.ended
        assert saver.finish() is None


def test_full_disk_at_a_checkpoint_is_a_checkpoint_error(tmp_path):
    """The file system refuses the second checkpoint; the run ends, and goes on once there is room."""

    limit = files_no_larger_than(1000)
    changes = {"checkpoint_every": "2 steps", "log_every": 100}
    try:
        with pytest.raises(
            CheckpointError, match=r"step-00000004 \(.* kB\): could not be written: the file is larger"
        ) as error:
            train(tmp_path, **changes, callbacks=[At("checkpoint", 2, limit.__enter__)])
    finally:
        limit.__exit__(None, None, None)
    assert error.value.exit_code == 4
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["LATEST", "step-00000002"]
    _, result = train(tmp_path, **changes)
    assert result.steps == 6


def test_full_disk_at_a_metrics_line_is_a_checkpoint_error(tmp_path):
    train(tmp_path / "whole")
    with (
        files_no_larger_than(700),
        pytest.raises(CheckpointError, match=r"metrics\.jsonl \(.*\): could not be written"),
    ):
        train(tmp_path / "cut", checkpoint_every="100 steps")
    assert not (tmp_path / "cut" / "metrics.jsonl").read_bytes().endswith(b"\n"), "cut in the middle of a line"
    train(tmp_path / "cut")
    assert [row["train/loss"] for row in rows(tmp_path / "cut")] == [
        row["train/loss"] for row in rows(tmp_path / "whole")
    ]


def test_async_checkpointer_flushes_before_it_writes_and_ends_its_thread(tmp_path):
    written = []
    checkpoints = Checkpoints(tmp_path, keep=1)
    with AsyncCheckpointer(checkpoints, before=lambda: written.append(sorted(checkpoints.steps()))) as writer:
        writer.start(checkpoint(1))
        writer.finish()
    assert written == [[]]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("litebert-checkpoint")]
