"""One process alone, and what is refused; several are in tests/distributed."""

from contextlib import contextmanager

import pytest
import torch

from litebert.errors import ConfigError
from litebert.training.parallel import World, is_sharded, joined_world, place, reduce_gradients
from training.toy import ToyModel, settings

ALONE = World.current("cpu")


def test_alone_every_reduction_gives_its_input():
    assert (ALONE.rank, ALONE.size, ALONE.device) == (0, 1, torch.device("cpu"))
    assert ALONE.sum({"a": 2}) == ALONE.max({"a": 2}) == {"a": 2}
    assert ALONE.gather("x") == ["x"]
    assert ALONE.on_first(lambda: 5) == 5


def test_an_error_on_the_first_rank_is_raised():
    def fail() -> None:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        ALONE.on_first(fail)


def test_what_the_first_holds_is_let_go_at_the_end_and_after_an_error():
    seen = []

    @contextmanager
    def hold():
        seen.append("taken")
        try:
            yield
        finally:
            seen.append("let go")

    with ALONE.first_holds(hold()):
        seen.append("held")
    with pytest.raises(ZeroDivisionError), ALONE.first_holds(hold()):
        raise ZeroDivisionError
    assert seen == ["taken", "held", "let go", "taken", "let go"]


def test_without_torchrun_a_process_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined_world(settings()) as world:
        assert world == ALONE


@pytest.mark.parametrize("available", [True, False])
def test_auto_takes_cuda_where_there_is_one(monkeypatch, available):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert World.current("auto").device == torch.device("cuda", 3) if available else ALONE.device
    assert World.current("cpu").device == ALONE.device


def test_cuda_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no CUDA device"):
        World.current("cuda")


def test_one_process_has_nothing_to_shard_over():
    with pytest.raises(ConfigError, match="nothing to shard over"):
        place(ToyModel(), ALONE, sharded=True)


def test_alone_a_model_is_only_moved():
    model = ToyModel()
    assert place(model, ALONE, sharded=False) is model
    assert not is_sharded(model)
    reduce_gradients(model, ALONE)
    assert model.up.weight.grad is None
