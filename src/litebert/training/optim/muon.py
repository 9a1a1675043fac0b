"""Muon, whose work is divided among the processes of a run."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.training.distributed.context import DistributedContext

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of x, x³ and x⁵ in the polynomial that is applied to the singular values: steep at 0, so that they grow fast."""
ITERATIONS = 5
SMALLEST_NORM = 1e-7


class _Updated(NamedTuple):
    """A matrix to update, and its parameter group."""

    matrix: Tensor
    gradient: Tensor
    group: dict[str, Any]


class Muon(torch.optim.Optimizer):
    """Descent along the nearest orthogonal matrix to the momentum of each matrix.

    The direction is multiplied by √(rows ÷ columns) where there are more rows than columns. Source: Jordan et al. 2024,
    https://kellerjordan.github.io/posts/muon/. The updates equal those of `torch.optim.Muon`, which computes the
    directions of all matrices in every process, and in bf16 also where a processor is slow at it. Here each process
    computes those of its share of the matrices, in `dtype`, and gets the others from the other processes. It needs
    whole matrices: no FSDP.
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self._dtype, self._world = dtype, DistributedContext.current()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every matrix that has a gradient; returns what `closure` returns. Every process calls it."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        updated = [
            _Updated(matrix, matrix.grad, group)
            for group in self.param_groups
            for matrix in group["params"]
            if matrix.grad is not None
        ]
        for (matrix, _, group), direction in zip(updated, self._directions(updated), strict=True):
            rows, columns = matrix.shape
            matrix.mul_(1 - group["lr"] * group["weight_decay"])
            matrix.add_(direction, alpha=-group["lr"] * math.sqrt(max(1.0, rows / columns)))
        return loss

    def _directions(self, updated: Sequence[_Updated]) -> list[Tensor]:
        """One orthogonal matrix for each matrix; every process keeps the momentum of all of them."""
        owners = owners_of([matrix.shape for matrix, _, _ in updated], self._world.size)
        own: dict[torch.Size, dict[int, Tensor]] = defaultdict(dict)
        for index, ((matrix, gradient, group), owner) in enumerate(zip(updated, owners, strict=True)):
            momentum = self._momentum_of(matrix)
            momentum.lerp_(gradient, 1 - group["momentum"])
            if owner == self._world.rank:
                own[matrix.shape][index] = gradient.lerp(momentum, group["momentum"]).to(self._dtype)
        found: dict[int, Tensor] = {}
        for same_shape in own.values():
            found |= zip(same_shape, orthogonalized(torch.stack([*same_shape.values()])), strict=True)
        directions = [
            found[index] if index in found else torch.zeros_like(matrix, dtype=self._dtype)
            for index, (matrix, _, _) in enumerate(updated)
        ]
        self._world.sum_tensors(directions)
        return directions

    def _momentum_of(self, matrix: Tensor) -> Tensor:
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        return state["momentum_buffer"]


def orthogonalized(matrices: Float[Tensor, "M R C"]) -> Float[Tensor, "M R C"]:
    """Nearly the nearest orthogonal matrix to each: the same singular vectors, with singular values of 0.7 to 1.2.

    Newton–Schulz iterations, which are matrix products only. Singular values of less than about a thousandth of the
    norm stay smaller. With two threads several small matrices at once are up to twice as fast as one by one.
    """
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    wide = matrices.mT if tall else matrices
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return (wide.mT if tall else wide).contiguous()


def owners_of(shapes: Sequence[torch.Size], processes: int) -> list[int]:
    """The process that computes the direction of each matrix: the most expensive first, each to the least busy one."""
    work, owners = [0] * processes, [0] * len(shapes)
    costs = [min(shape) ** 2 * max(shape) for shape in shapes]
    for index in sorted(range(len(shapes)), key=costs.__getitem__, reverse=True):
        owners[index] = work.index(min(work))
        work[owners[index]] += costs[index]
    return owners
