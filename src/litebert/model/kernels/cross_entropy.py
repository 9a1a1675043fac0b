"""Summed cross-entropy over a large vocabulary in little memory.

`F.cross_entropy` stores the log-probabilities in 32 bits beside the logits. Here the backward pass recomputes them
from the logits, a few rows at a time: less than half the memory for 16-bit logits, and faster.
"""

from collections.abc import Iterator
from typing import Any, Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

NO_LABEL: Final = -100
_ELEMENTS_PER_CHUNK: Final = 2**18


def summed_cross_entropy(logits: Float[Tensor, "P V"], labels: Int[Tensor, " P"]) -> Float[Tensor, ""]:
    """`F.cross_entropy(logits.float(), labels, reduction="sum")`; label -100 is ignored."""
    return _SummedCrossEntropy.apply(logits, labels)


def at_least_32_bits(logits: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`logits` in float32, or float64 if they are, so that exponentials can be summed."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        # maximum and logarithm are kept apart: their sum would round off the loss of a confident prediction
        maxima = at_least_32_bits(logits.amax(-1, keepdim=True))
        sums = [_wide(chunk).sub_(top).exp_().sum(-1, keepdim=True) for chunk, top in _in_chunks(logits, maxima)]
        logs = torch.cat(sums).log_()
        ctx.save_for_backward(logits, labels, maxima + logs)
        scores = logits.gather(1, labels.clamp(min=0)[:, None])
        return (logs - (scores - maxima))[:, 0].masked_fill(labels == NO_LABEL, 0).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Softmax minus one at the label, scaled by the incoming gradient."""
        logits, labels, normalizers = ctx.saved_tensors
        scales = gradients[0].expand_as(normalizers).masked_fill((labels == NO_LABEL)[:, None], 0)
        classes = labels.clamp(min=0)[:, None]
        result = torch.empty_like(logits)
        for chunk, normalizer, label, scale, out in _in_chunks(logits, normalizers, classes, scales, result):
            probabilities = _wide(chunk).sub_(normalizer).exp_()
            probabilities.scatter_add_(1, label, -torch.ones_like(scale))
            out.copy_(probabilities.mul_(scale))
        return result, None


def _wide(chunk: Tensor) -> Tensor:
    """A copy in at least 32 bits; cast first, because operations on mixed dtypes are slow on a CPU."""
    return chunk.to(torch.promote_types(chunk.dtype, torch.float32), copy=True)


def _in_chunks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Chunks of a few rows of each tensor."""
    rows = max(1, _ELEMENTS_PER_CHUNK // logits.shape[1])
    return zip(*(tensor.split(rows) for tensor in (logits, *others)), strict=True)
