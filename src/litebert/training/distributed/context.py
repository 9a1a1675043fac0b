"""Several processes as one. Before: `torchrun`, or nothing. After: `trainer.py` asks a `World` for every sum.

Only `litebert.training` imports `torch.distributed`. Gradients are summed after the backward rather than by
DistributedDataParallel: docs/decisions/0003-gradients-are-reduced-after-the-backward.md.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor

from litebert.errors import ConfigError, LitebertError
from litebert.training.distributed.watchdog import Heartbeat, Watchdog
from litebert.training.train_settings import DeviceName, TrainSettings

T = TypeVar("T")

logger = logging.getLogger(__name__)

_ARRIVALS = Heartbeat()
"""One for the process, as torch's process group is."""
_SAFE_RESTARTS = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


@dataclass(frozen=True, slots=True)
class DistributedContext:
    """This process's place among the processes of a run."""

    rank: int
    size: int
    device: torch.device
    arrivals: Heartbeat = field(default=_ARRIVALS, repr=False, compare=False)
    """Counts what this process has done together with the others."""

    @classmethod
    def current(cls, device: DeviceName = "auto") -> "DistributedContext":
        """The world that `distributed_context` joined; outside it, this process alone."""
        together = dist.is_initialized()
        distribute_model = _device(device)
        return (
            cls(dist.get_rank(), dist.get_world_size(), distribute_model) if together else cls(0, 1, distribute_model)
        )

    def sum(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Sums over all ranks; every rank gives the same names."""
        return self._reduced(counts, dist.ReduceOp.SUM)

    def max(self, values: Mapping[str, int]) -> dict[str, int]:
        """Largest values over all ranks; every rank gives the same names."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def sum_tensors(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks."""
        if self.size > 1:
            self.arrivals.add()
            for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
                work.wait()

    def gather(self, value: Any) -> list[Any]:
        """The `value` of every rank, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            self.arrivals.add()
            dist.all_gather_object(values, value)
        return values

    def on_rank_zero(self, action: Callable[[], T]) -> T:
        """What `action` gives on rank 0, where alone it runs; a LitebertError there is raised on every rank."""
        outcome: list[Any] = [None, None]
        if self.rank == 0:
            try:
                outcome = [action(), None]
            except LitebertError as error:
                outcome = [None, error]
        if self.size > 1:
            self.arrivals.add()
            dist.broadcast_object_list(outcome, src=0, device=torch.device("cpu"))
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    @contextmanager
    def rank_zero_context(self, hold: AbstractContextManager[None]) -> Iterator[None]:
        """A block during which rank 0 holds something for all; every rank learns where it cannot."""
        self.on_rank_zero(hold.__enter__)
        try:
            yield
        finally:
            if self.rank == 0:
                hold.__exit__(None, None, None)

    def _reduced(self, values: Mapping[str, int], operation: dist.ReduceOp.RedOpType) -> dict[str, int]:
        if self.size == 1:
            return dict(values)
        self.arrivals.add()
        # On the CPU, through gloo: integers for the host need not wait for the accelerator.
        tensor = torch.tensor([values[name] for name in sorted(values)], dtype=torch.int64)
        dist.all_reduce(tensor, operation)
        return dict(zip(sorted(values), tensor.tolist()))


@contextmanager
def distributed_context(settings: TrainSettings) -> Iterator[DistributedContext]:
    """The world of the processes that `torchrun` started; this process alone where it did not.

    Left on a clean end only: taking the group down after an error would wait for ranks that are gone.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield DistributedContext.current(settings.device)
        return
    device = _device(settings.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    _warn_of_unsafe_restarts()
    timeout = timedelta(seconds=settings.timeout_seconds)
    store, rank, size = next(rendezvous("env://", timeout=timeout))
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    with Watchdog(_ARRIVALS, store, rank=rank, size=size, timeout_seconds=settings.timeout_seconds):
        yield DistributedContext.current(settings.device)
    dist.barrier()
    dist.destroy_process_group()


def _warn_of_unsafe_restarts() -> None:
    """The variable is read by torchrun itself, so all that its processes can do is to ask for it."""
    if int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) and os.environ.get(_SAFE_RESTARTS) != "1":
        logger.warning("a restart by torchrun may hang; start it with %s=1 in its environment", _SAFE_RESTARTS)


def distribute_model(model: nn.Module, world: DistributedContext, *, sharded: bool) -> nn.Module:
    """`model`, changed in place: on the world's device, with rank 0's weights on every rank, sharded if asked."""
    model.to(world.device)
    if world.size > 1:
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), src=0)
    if sharded:
        if world.size == 1:
            raise ConfigError("sharded: there is one process, nothing to shard over; start with torchrun or unset it")
        # One unit, gathered once: a shared block would be gathered anew for each of its layers.
        fully_shard(model, reshard_after_forward=False)
    return model


def is_sharded(model: nn.Module) -> bool:
    """Whether `place` sharded `model`."""
    return isinstance(model, FSDPModule)


def reduce_gradients(model: nn.Module, world: DistributedContext) -> None:
    """Replace the gradients of a repeated model by their sums over all ranks.

    A parameter that no rank used keeps no gradient; one that only some used has zeros elsewhere.
    """
    if world.size == 1 or is_sharded(model):
        return
    parameters = dict(model.named_parameters())
    used = world.max({name: int(parameter.grad is not None) for name, parameter in parameters.items()})
    for name, parameter in parameters.items():
        if used[name] and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    world.sum_tensors([parameter.grad for parameter in parameters.values() if parameter.grad is not None])


def synchronise_gradients(model: nn.Module, *, enabled: bool) -> None:
    """Whether the next backward of a sharded model sums gradients over ranks: only a step's last one need."""
    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(enabled)


def gather_full(tensor: Tensor) -> Tensor:
    """A copy of the full tensor on the CPU, whatever shard of it this process holds; every rank must call."""
    full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return full.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def shard_like(value: Tensor, target: Tensor) -> Tensor:
    """`value`, a full tensor, on the device of `target` and sharded as it is if their shapes agree."""
    if isinstance(target, DTensor) and value.shape == target.shape:
        return distribute_tensor(value.to(target.device), target.device_mesh, target.placements)
    return value.to(target.device)


def _device(name: DeviceName) -> torch.device:
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ConfigError("device: 'cuda' was asked for, but torch finds no CUDA device; use 'cpu' or 'auto'")
    if name == "cpu" or not available:
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
