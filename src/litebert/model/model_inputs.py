"""Inputs of the models as callers give them, and the losses of their labels: the conventions of transformers.

The trainer uses neither: it gives complete inputs, and `losses.py` has the sums that it divides over a whole step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from litebert.errors import ConfigError
from litebert.model.kernels.cross_entropy import NO_LABEL


class ModelInputs(NamedTuple):
    """What the encoder reads, [B, S] or [B, C, S] each; sequences are padded to the longest of them."""

    input_ids: Tensor
    """Int64."""
    attention_mask: Tensor
    """Bool, True on real tokens."""
    token_type_ids: Tensor
    """Int64."""

    def to(self, device: torch.device | str) -> "ModelInputs":
        """The same inputs on another device."""
        return ModelInputs(*(tensor.to(device, non_blocking=True) for tensor in self))


def complete_inputs(input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None) -> ModelInputs:
    """The inputs with a bool mask; without a mask every token is attended to, without token types all are 0."""
    mask = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
    return ModelInputs(input_ids, mask, types)


def labelled_positions(input_ids: Tensor, labels: Tensor | None) -> Int[Tensor, " P"]:
    """Flat positions b·S + s with a label; all without labels."""
    if labels is None:
        return torch.arange(input_ids.numel(), device=input_ids.device)
    return (labels.flatten() != NO_LABEL).nonzero()[:, 0]


def validate_masked_labels(labels: Tensor, positions: Tensor | None, *, others: Sequence[Tensor | None]) -> None:
    """Raise ConfigError unless there is one label for each position, and no label of the `others`."""
    if positions is None or len(labels) != len(positions):
        found = "no masked_positions" if positions is None else f"{len(positions):,} masked_positions"
        raise ConfigError(f"masked_labels: {len(labels):,} labels for {found}; give one for each position")
    if any(each is not None for each in others):
        raise ConfigError("masked_labels: given with labels or sentence_order_label, which need logits; remove one")


def label_loss(
    logits: Float[Tensor, "*B C"], labels: Tensor | None, *, one_is_a_number: bool = False
) -> Float[Tensor, ""] | None:
    """The mean loss of `labels`; None without labels.

    Binary cross-entropy for floats (one for each class), and cross-entropy for whole numbers, which are indices of
    classes; -100 is ignored. With `one_is_a_number` squared error for one column of logits.
    """
    if labels is None:
        return None
    if one_is_a_number and logits.shape[-1] == 1:
        return F.mse_loss(logits.flatten(), labels.flatten().to(logits.dtype))
    if labels.is_floating_point():
        return F.binary_cross_entropy_with_logits(logits, labels)
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NO_LABEL)


def span_label_loss(
    start_logits: Float[Tensor, "B S"], end_logits: Float[Tensor, "B S"], starts: Tensor | None, ends: Tensor | None
) -> Float[Tensor, ""] | None:
    """The mean of the cross-entropies of start and end, without answers beyond the sequence; None without positions."""
    if starts is None or ends is None:
        return None
    length = start_logits.shape[1]
    pairs = ((start_logits, starts), (end_logits, ends))
    losses = [F.cross_entropy(logits, each.clamp(0, length), ignore_index=length) for logits, each in pairs]
    return (losses[0] + losses[1]) / 2
