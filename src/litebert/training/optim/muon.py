"""Muon for matrices and another optimizer for all other parameters, as one optimizer."""

from collections.abc import Callable
from typing import Any

import torch


class MuonWith(torch.optim.Optimizer):
    """`torch.optim.Muon` and `other`, which share their parameter groups and states with this optimizer.

    Muon replaces the momentum of a matrix by the nearest orthogonal matrix, times √(rows ÷ columns) where there are
    more rows than columns. Source: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/.
    """

    def __init__(self, muon: torch.optim.Muon, other: torch.optim.Optimizer) -> None:
        super().__init__([*muon.param_groups, *other.param_groups], {})
        self._parts = (muon, other)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returns."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        first = len(self._parts[0].param_groups)
        groups = (self.param_groups[:first], self.param_groups[first:])
        for part, part_groups in zip(self._parts, groups, strict=True):
            part.state, part.param_groups = self.state, part_groups
            part.step()
        return loss
