"""Fitted numbers as weights of the classifier, so that every program that loads the model has them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class LogitAdjustment:
    """What is done to the logits of a classifier: (logits - shifts) / temperature."""

    temperature: float | None = None
    """Positive; None: nothing is divided."""
    shifts: tuple[float, ...] = ()
    """Subtracted from the logit of each label; empty: nothing."""


UNCHANGED = LogitAdjustment()


@contextmanager
def adjusted_logits(model: nn.Module, adjustment: LogitAdjustment) -> Iterator[None]:
    """Inside, the classifier gives adjusted logits; afterwards its weights are as before."""
    if adjustment == UNCHANGED:
        yield
        return
    head = model.get_submodule("classifier")
    before = [parameter.detach().clone() for parameter in head.parameters()]
    try:
        _adjust(head, adjustment)
        yield
    finally:
        with torch.no_grad():
            for parameter, weights in zip(head.parameters(), before, strict=True):
                parameter.copy_(weights)


@torch.no_grad()
def _adjust(head: nn.Module, adjustment: LogitAdjustment) -> None:
    if adjustment.shifts:
        bias = head.get_parameter("bias")
        bias.sub_(torch.tensor(adjustment.shifts, dtype=bias.dtype, device=bias.device))
    if adjustment.temperature is not None:
        for parameter in head.parameters():
            parameter.div_(adjustment.temperature)
