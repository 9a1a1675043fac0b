"""One process alone, and what is refused; several are in tests/distributed."""

from contextlib import contextmanager

import pytest
import torch

from litebert.errors import ConfigError
from litebert.training.distributed.context import (
    DistributedContext,
    distribute_model,
    distributed_context,
    is_sharded,
    reduce_gradients,
)
from support.toy import ToyModel, settings

ALONE = DistributedContext.current("cpu")


def test_alone_every_reduction_gives_its_input():
    assert (ALONE.rank, ALONE.size, ALONE.device) == (0, 1, torch.device("cpu"))
    assert ALONE.sum({"a": 2}) == ALONE.max({"a": 2}) == {"a": 2}
    assert ALONE.gather("x") == ["x"]
    assert ALONE.on_rank_zero(lambda: 5) == 5


def test_an_error_on_the_first_rank_is_raised():
    def fail() -> None:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        ALONE.on_rank_zero(fail)


def test_what_the_first_holds_is_let_go_at_the_end_and_after_an_error():
    seen = []

    @contextmanager
    def hold():
        seen.append("taken")
        try:
            yield
        finally:
            seen.append("let go")

    with ALONE.rank_zero_context(hold()):
        seen.append("held")
    with pytest.raises(ZeroDivisionError), ALONE.rank_zero_context(hold()):
        raise ZeroDivisionError
    assert seen == ["taken", "held", "let go", "taken", "let go"]


def test_without_torchrun_a_process_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed_context(settings()) as world:
        assert world == ALONE


@pytest.mark.parametrize("available", [True, False])
def test_auto_takes_cuda_where_there_is_one(monkeypatch, available):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert DistributedContext.current("auto").device == torch.device("cuda", 3) if available else ALONE.device
    assert DistributedContext.current("cpu").device == ALONE.device


def test_cuda_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no CUDA device"):
        DistributedContext.current("cuda")


def test_one_process_has_nothing_to_shard_over():
    with pytest.raises(ConfigError, match="nothing to shard over"):
        distribute_model(ToyModel(), ALONE, sharded=True)


def test_alone_a_model_is_only_moved():
    model = ToyModel()
    assert distribute_model(model, ALONE, sharded=False) is model
    assert not is_sharded(model)
    reduce_gradients(model, ALONE)
    assert model.up.weight.grad is None
