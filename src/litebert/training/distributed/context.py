"""The processes of a run: their collectives, and the distribution of a model over them.

Only `litebert.training` imports `torch.distributed`. Gradients are summed after the backward rather than by
DistributedDataParallel: docs/decisions/0003-gradients-are-reduced-after-the-backward.md.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor

from litebert.device import usable_device
from litebert.errors import ConfigError, LitebertError
from litebert.training.distributed.watchdog import Heartbeat, Watchdog
from litebert.training.train_settings import TrainSettings

T = TypeVar("T")

logger = logging.getLogger(__name__)

_HEARTBEAT = Heartbeat()
"""One for the process, like the process group of torch."""
_RUNS = count()
"""The runs of this process, which every rank begins in the same order."""
_INTERRUPT = "litebert: interrupted"
SMALL_TENSOR = 2**22
"""Bytes of a tensor that is reduced alone: gloo takes 10 ms for the 30 gradients of 12 MB as one, 35 ms one by one."""
_SAFE_RESTARTS = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


class GatherInterruptedError(Exception):
    """Another rank left the evaluation that ends with this `gather`."""


@dataclass(frozen=True, slots=True)
class DistributedContext:
    """Rank and device of this process, and collectives over all processes of the run."""

    rank: int
    size: int
    device: torch.device
    heartbeat: Heartbeat = field(default=_HEARTBEAT, repr=False, compare=False)
    """Counts the collectives and forwards of this process."""

    @classmethod
    def current(cls, device: str = "auto") -> "DistributedContext":
        """The context inside `distributed_context`; outside it, that of a single process."""
        if dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size(), _device(device))
        return cls(0, 1, _device(device))

    def sum(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Sums over all ranks; every rank passes the same names."""
        return self._reduced(counts, dist.ReduceOp.SUM)

    def max(self, values: Mapping[str, int]) -> dict[str, int]:
        """Maxima over all ranks; every rank passes the same names."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def sum_tensors(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks; small ones are reduced as one tensor."""
        if self.size == 1:
            return
        self.heartbeat.add()
        small = [tensor for tensor in tensors if tensor.nbytes < SMALL_TENSOR]
        together = [torch.cat([tensor.flatten() for tensor in small])] if small else []
        large = [tensor for tensor in tensors if tensor.nbytes >= SMALL_TENSOR]
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in together + large]:
            work.wait()
        for summed in together:
            for tensor, part in zip(small, summed.split([tensor.numel() for tensor in small]), strict=True):
                tensor.copy_(part.view_as(tensor))

    def gather(self, value: Any) -> list[Any]:
        """The `value` of every rank, by rank; a GatherInterruptedError if a rank called `interrupt_gather` instead."""
        values = [value] * self.size
        if self.size > 1:
            self.heartbeat.add()
            dist.all_gather_object(values, value)
        if any(isinstance(each, str) and each == _INTERRUPT for each in values):
            raise GatherInterruptedError
        return values

    def interrupt_gather(self) -> None:
        """Let the `gather` that the other ranks call next raise a GatherInterruptedError."""
        with suppress(GatherInterruptedError):
            self.gather(_INTERRUPT)

    def on_rank_zero(self, action: Callable[[], T]) -> T:
        """Run `action` on rank 0 only; its result, or its LitebertError, reaches every rank."""
        outcome: list[Any] = [None, None]
        if self.rank == 0:
            try:
                outcome = [action(), None]
            except LitebertError as error:
                error.on_every_rank = True
                outcome = [None, error]
        if self.size > 1:
            self.heartbeat.add()
            dist.broadcast_object_list(outcome, src=0, device=torch.device("cpu"))
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    @contextmanager
    def rank_zero_context(self, context: AbstractContextManager[None]) -> Iterator[None]:
        """Enter `context` on rank 0 only; a LitebertError on entry is raised on every rank."""
        self.on_rank_zero(context.__enter__)
        try:
            yield
        finally:
            if self.rank == 0:
                context.__exit__(None, None, None)

    def _reduced(self, values: Mapping[str, int], operation: dist.ReduceOp.RedOpType) -> dict[str, int]:
        if self.size == 1:
            return dict(values)
        self.heartbeat.add()
        # On the CPU, with gloo: integers for the host do not wait for the accelerator.
        tensor = torch.tensor([values[name] for name in sorted(values)], dtype=torch.int64)
        dist.all_reduce(tensor, operation)
        return dict(zip(sorted(values), tensor.tolist()))


@contextmanager
def distributed_context(settings: TrainSettings) -> Iterator[DistributedContext]:
    """Join the processes that `torchrun` started; without torchrun, the context of a single process.

    The process group is destroyed only without an error: after one, it would wait for ranks that have ended.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield DistributedContext.current(settings.device)
        return
    device = _device(settings.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    _warn_about_unsafe_restarts()
    timeout = timedelta(seconds=settings.timeout_seconds)
    shared, rank, size = next(rendezvous("env://", timeout=timeout))
    # The store of torchrun outlives a run: in the next one a rank would read the addresses of the groups before.
    store = dist.PrefixStore(f"run {next(_RUNS)}", shared)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    with Watchdog(_HEARTBEAT, store, rank=rank, size=size, timeout_seconds=settings.timeout_seconds):
        yield DistributedContext.current(settings.device)
    dist.barrier()
    dist.destroy_process_group()


def _warn_about_unsafe_restarts() -> None:
    """Warn if torchrun was started without the variable; only torchrun itself reads it."""
    if int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) and os.environ.get(_SAFE_RESTARTS) != "1":
        logger.warning("a restart by torchrun may hang; start it with %s=1 in its environment", _SAFE_RESTARTS)


def distribute_model(model: nn.Module, world: DistributedContext, *, fsdp: bool) -> None:
    """Move `model`, in place, to the device of `world`, with the weights of rank 0, sharded if `fsdp`."""
    model.to(world.device)
    if world.size > 1:
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), src=0)
    if fsdp:
        if world.size == 1:
            raise ConfigError("fsdp: there is only one process, so nothing to shard over; use torchrun, or fsdp=false")
        # One unit, gathered once: with a unit per block, a shared block would be gathered again for each layer.
        fully_shard(model, reshard_after_forward=False)


def is_sharded(model: nn.Module) -> bool:
    """Whether `distribute_model` sharded `model`."""
    return isinstance(model, FSDPModule)


def reduce_gradients(model: nn.Module, world: DistributedContext) -> None:
    """Replace the gradients of a replicated model by their sums over all ranks.

    A parameter that no rank used has no gradient; one that only some ranks used has zeros on the others.
    """
    if world.size == 1 or is_sharded(model):
        return
    parameters = dict(model.named_parameters())
    used = world.max({name: int(parameter.grad is not None) for name, parameter in parameters.items()})
    for name, parameter in parameters.items():
        if used[name] and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    world.sum_tensors([parameter.grad for parameter in parameters.values() if parameter.grad is not None])


def set_last_backward(model: nn.Module, *, last: bool) -> None:
    """Set whether the next backward of a sharded model is the last one of its step.

    Only the last one reduces gradients and releases the gathered weights. So a step has one gather and one reduction on
    every rank, even if the ranks have different numbers of microbatches.
    """
    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(last)
        model.set_reshard_after_backward(last)


@contextmanager
def gathered_weights(model: nn.Module) -> Iterator[None]:
    """Gather the weights of a sharded model for forwards in the block, which then communicate with no other rank."""
    if not isinstance(model, FSDPModule):
        yield
        return
    model.unshard()
    try:
        yield
    finally:
        model.reshard()


def gather_full(tensor: Tensor) -> Tensor:
    """A copy of the full tensor on the CPU, gathered from its shards; every rank must call."""
    full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return full.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def shard_like(value: Tensor, target: Tensor) -> Tensor:
    """The full tensor `value` on the device of `target`, sharded like it if their shapes are equal."""
    if isinstance(target, DTensor) and value.shape == target.shape:
        return distribute_tensor(value.to(target.device), target.device_mesh, target.placements)
    return value.to(target.device)


def _device(name: str) -> torch.device:
    """The device of this process; each process of a machine has a CUDA device of its own."""
    found = usable_device(name)
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if found == "cuda" else torch.device(found)
