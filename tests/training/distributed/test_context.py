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
from support.runs.toy import ToyModel, settings

ALONE = DistributedContext.current("cpu")


def test_collectives_of_one_process_return_their_input():
    assert (ALONE.rank, ALONE.size, ALONE.device) == (0, 1, torch.device("cpu"))
    assert ALONE.sum({"a": 2}) == ALONE.max({"a": 2}) == {"a": 2}
    assert ALONE.gather("x") == ["x"]
    assert ALONE.on_rank_zero(lambda: 5) == 5


def test_on_rank_zero_raises_the_error():
    def fail() -> None:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        ALONE.on_rank_zero(fail)


def test_rank_zero_context_exits_at_the_end_and_after_an_error():
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


def test_distributed_context_without_torchrun_has_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed_context(settings()) as world:
        assert world == ALONE


@pytest.mark.parametrize("available", [True, False])
def test_device_auto_is_cuda_if_available(monkeypatch, available):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4 * available)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert DistributedContext.current("auto").device == torch.device("cuda", 3) if available else ALONE.device
    assert DistributedContext.current("cpu").device == ALONE.device


def test_device_cuda_is_refused_if_not_available(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ConfigError, match="torch finds 0 CUDA devices; use cpu or auto"):
        DistributedContext.current("cuda")


def test_fsdp_with_one_process_is_refused():
    with pytest.raises(ConfigError, match="nothing to shard over"):
        distribute_model(ToyModel(), ALONE, fsdp=True)


def test_distribute_model_with_one_process_only_moves_it():
    model = ToyModel()
    distribute_model(model, ALONE, fsdp=False)
    assert not is_sharded(model)
    reduce_gradients(model, ALONE)
    assert model.up.weight.grad is None
