"""Summed cross-entropy over a large vocabulary in little memory.

`F.cross_entropy` stores the log-probabilities in 32 bits beside the logits. Here the forward pass computes the gradient
too, some rows at a time, and stores it in the dtype of the logits, which need not be kept: on a CPU less than half the
memory for 16-bit logits, and faster. Measurements: docs/results/performance.md and docs/results/gpu.md.
"""

from collections.abc import Iterator
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

NO_LABEL: Final = -100
ELEMENTS_PER_CHUNK: Final = {"cpu": 2**18, "gpu": 2**25}
"""On a CPU as many as stay in its cache; on a GPU 128 MiB in 32 bits for each tensor of a chunk, since launching a
kernel takes microseconds however few rows it has."""


def summed_cross_entropy(logits: Float[Tensor, "P V"], labels: Int[Tensor, " P"]) -> Float[Tensor, ""]:
    """`F.cross_entropy(logits.float(), labels, reduction="sum")`; label -100 is ignored."""
    return _SummedCrossEntropy.apply(logits, labels)


def at_least_32_bits(logits: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`logits` in float32, or float64 if they are, so that exponentials can be summed."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        classes, losses = labels.clamp(min=0)[:, None], []
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else logits.new_empty(len(logits), 0)
        for chunk, label, out in _in_chunks(logits, classes, gradient):
            # Operations on mixed dtypes are slow on a CPU.
            wide = chunk.to(torch.promote_types(chunk.dtype, torch.float32), copy=True)
            own, largest = wide.gather(1, label), wide.amax(-1, keepdim=True)
            probabilities, log_sum = softmax_(wide, largest)
            losses.append(largest - own + log_sum)
            if ctx.needs_input_grad[0]:
                out.copy_(probabilities.scatter_add_(1, label, -torch.ones_like(own)))
        unlabelled = labels == NO_LABEL
        if ctx.needs_input_grad[0]:
            zero_rows(gradient, unlabelled)
        ctx.save_for_backward(gradient)
        return torch.cat(losses)[:, 0].masked_fill(unlabelled, 0).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:  # pyrefly: ignore[bad-override]
        """Softmax minus one at the label, scaled by the incoming gradient, a number in at least 32 bits."""
        (gradient,) = ctx.saved_tensors
        return gradient * grad_outputs[0], None


def softmax_(wide: Float[Tensor, "P V"], largest: Float[Tensor, "P 1"]) -> tuple[Tensor, Tensor]:
    """Probabilities [P, V], and the log of the sum of exp(wide - largest) [P, 1], which cannot underflow.

    `wide` is overwritten on a CPU, where torch's softmax, into memory of its own, takes 1.3 times as long.
    """
    if wide.is_cpu:
        total = wide.sub_(largest).exp_().sum(-1, keepdim=True)
        return wide.mul_(total.reciprocal()), total.log()
    probabilities = wide.softmax(-1)
    return probabilities, -probabilities.amax(-1, keepdim=True).log_()


def zero_rows(matrix: Float[Tensor, "P V"], rows: Bool[Tensor, " P"]) -> None:
    """On a CPU without a pass over all elements, on a GPU without a synchronisation."""
    if matrix.is_cpu:
        matrix.index_fill_(0, rows.nonzero()[:, 0], 0)
    else:
        matrix.masked_fill_(rows[:, None], 0)


def _in_chunks(logits: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Chunks of some rows of each tensor."""
    rows = rows_per_chunk(logits.shape[1], logits.device)
    return zip(*(tensor.split(rows) for tensor in (logits, *others)), strict=True)


def rows_per_chunk(classes: int, device: torch.device) -> int:
    """Number of rows of logits that are computed with at once."""
    return max(1, ELEMENTS_PER_CHUNK["cpu" if device.type == "cpu" else "gpu"] // classes)
