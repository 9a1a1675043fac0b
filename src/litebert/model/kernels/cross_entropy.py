"""Cross-entropy of logits over a large vocabulary that are never stored: the last product of the MLM head and its loss.

The forward pass computes some rows of the logits at a time, their losses and their gradient, which is stored in the
dtype of the states, not scaled. So the backward pass scales the small gradients of states and weight instead of that of
the logits. Idea: Liger kernel (Hsu et al. 2024, arXiv 2410.10989), section 3.2. Measurements:
docs/results/performance.md.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from litebert.model.kernels.native.library import NativeLibrary, native_library

NO_LABEL: Final = -100
_ROWS_PER_PRODUCT: Final = 256
"""On a CPU; enough for a product at full speed, and few enough that its result stays in the cache."""
_ELEMENTS_PER_CHUNK: Final = {"cpu": 2**18, "gpu": 2**25}
"""On a CPU as many as stay in its cache; on a GPU 128 MiB in 32 bits, since launching a kernel takes microseconds
however few rows it has."""


class VocabularyLoss(NamedTuple):
    """What training needs of the logits."""

    loss: Float[Tensor, ""]
    """Summed cross-entropy, in at least 32 bits; label -100 is ignored."""
    correct: Bool[Tensor, " P"]
    """Whether the largest logit is that of the label; False without a label."""


def vocabulary_loss(
    states: Float[Tensor, "P E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, " V"],
    labels: Int[Tensor, " P"],
) -> VocabularyLoss:
    """Loss of the logits `states @ weight.T + bias`.

    `states` and `weight` have one dtype, in which the product is computed; the bias is added in at least 32 bits.
    """
    # Without gradients the inputs of a function may still require them.
    trained = torch.is_grad_enabled() and any(each.requires_grad for each in (states, weight, bias))
    return VocabularyLoss(*_VocabularyLoss.apply(states, weight, bias, labels, trained))


@torch.no_grad()
def vocabulary_log_probabilities(
    states: Float[Tensor, "P E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, " V"],
    labels: Int[Tensor, " P"],
) -> Float[Tensor, " P"]:
    """The log probability of each label under the logits of `vocabulary_loss`, in at least 32 bits; no gradients.

    Labels are tokens of the vocabulary, none is -100.
    """
    return -_losses_and_gradients(states, weight, bias, labels, trained=False)[0]


def at_least_32_bits(logits: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`logits` in float32, or float64 if they are, so that exponentials can be summed."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _VocabularyLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, trained: bool
    ) -> tuple[Tensor, Tensor]:
        losses, correct, gradient, bias_gradient = _losses_and_gradients(states, weight, bias, labels, trained=trained)
        ctx.save_for_backward(states, weight, gradient, bias_gradient)
        ctx.bias_dtype = bias.dtype
        ctx.mark_non_differentiable(correct)
        return losses.sum(), correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        states, weight, gradient, bias_gradient = ctx.saved_tensors
        scale = grad_outputs[0]
        with torch.autocast(states.device.type, enabled=False):
            return (
                gradient @ weight * scale if ctx.needs_input_grad[0] else None,
                # Scaled before the sum over all rows, which can exceed what fp16 holds.
                gradient.mT @ (states * scale) if ctx.needs_input_grad[1] else None,
                (bias_gradient * scale).to(ctx.bias_dtype) if ctx.needs_input_grad[2] else None,
                None,
                None,
            )


def _losses_and_gradients(
    states: Float[Tensor, "P E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, " V"],
    labels: Int[Tensor, " P"],
    *,
    trained: bool,
) -> tuple[Float[Tensor, " P"], Bool[Tensor, " P"], Float[Tensor, "P V_or_0"], Float[Tensor, " V"]]:
    """Losses, whether the largest logit is that of the label, and the gradients of the logits and of the bias.

    The gradients are of use if `trained`.
    """
    gradient = states.new_empty(len(states), len(weight) if trained else 0)
    library = native_library(states, weight) if bias.dtype == torch.float32 else None
    if labels.device.type == "cpu":  # where it does not wait for the device
        _validate_labels(labels, len(weight))
    with torch.autocast(states.device.type, enabled=False):
        if library:
            losses, correct, bias_gradient = _native_losses(library, states, weight, bias, labels, gradient)
        else:
            losses, correct, bias_gradient = _losses(states, weight, bias, labels, gradient)
    return losses, correct, gradient, bias_gradient


def _validate_labels(labels: Int[Tensor, " P"], classes: int) -> None:
    """Raise IndexError for a label that is neither a token nor NO_LABEL."""
    wrong = labels[((labels < 0) | (labels >= classes)) & (labels != NO_LABEL)]
    if len(wrong):
        raise IndexError(f"label {int(wrong[0])}: expected 0 to {classes - 1}, or {NO_LABEL} for none")


def _losses(
    states: Float[Tensor, "P E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, " V"],
    labels: Int[Tensor, " P"],
    gradient: Float[Tensor, "P V_or_0"],
) -> tuple[Float[Tensor, " P"], Bool[Tensor, " P"], Float[Tensor, " V"]]:
    """Losses, whether the largest logit is that of the label, and the gradient of the bias.

    Writes that of the logits into `gradient`, unless it is empty.
    """
    wide_bias = at_least_32_bits(bias)
    bias_gradient = torch.zeros_like(wide_bias)
    has_label = labels != NO_LABEL
    losses, correct = [], []
    targets = labels.clamp(min=0)[:, None], has_label.to(wide_bias.dtype), gradient
    for logits, label, weights, out in _logits_in_chunks(states, weight, *targets):
        logits.add_(wide_bias)
        own = logits.gather(1, label)
        other = logits.scatter_(1, label, -torch.inf).amax(-1, keepdim=True)
        logits.scatter_(1, label, own)
        correct.append(_is_first_of_the_largest(logits, label, own, other))
        largest = torch.maximum(own, other)
        probabilities, log_sum = _softmax_(logits, largest)
        losses.append(largest - own + log_sum)
        if gradient.numel():
            gradients = probabilities.scatter_add_(1, label, -torch.ones_like(own))
            bias_gradient.addmv_(gradients.mT, weights)
            out.copy_(gradients)
    if gradient.numel():
        _zero_rows(gradient, ~has_label)
    return torch.cat(losses)[:, 0].masked_fill(~has_label, 0), torch.cat(correct) & has_label, bias_gradient


def _native_losses(
    library: NativeLibrary,
    states: Float[Tensor, "P E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, " V"],
    labels: Int[Tensor, " P"],
    gradient: Float[Tensor, "P V_or_0"],
) -> tuple[Float[Tensor, " P"], Bool[Tensor, " P"], Float[Tensor, " V"]]:
    """As `_losses`, but each row of logits is read once."""
    classes, bias = len(weight), bias.contiguous()
    targets = labels.long().clamp(min=0).masked_fill(labels == NO_LABEL, NO_LABEL)
    losses, correct = bias.new_empty(len(states)), torch.empty(len(states), dtype=torch.bool)
    bias_gradients = bias.new_zeros(torch.get_num_threads(), classes)
    memory = states.new_empty(min(_ROWS_PER_PRODUCT, len(states)), classes)
    for start in range(0, len(states), _ROWS_PER_PRODUCT):
        rows = slice(start, start + _ROWS_PER_PRODUCT)
        part = states[rows]
        logits = torch.mm(part, weight.mT, out=memory[: len(part)])
        outputs = losses[rows], correct[rows], gradient[rows] if gradient.numel() else None, bias_gradients
        library.run("cross_entropy", states.dtype, logits, bias, targets[rows], *outputs, len(part), classes)
    return losses, correct, bias_gradients.sum(0)


def _is_first_of_the_largest(
    logits: Float[Tensor, "P V"], label: Int[Tensor, "P 1"], own: Float[Tensor, "P 1"], other: Float[Tensor, "P 1"]
) -> Bool[Tensor, " P"]:
    """Whether argmax is the label; `own` is its logit, `other` the largest logit of the other classes."""
    if not logits.is_cpu:  # without waiting for the device
        return logits.argmax(-1) == label[:, 0]
    correct = (own > other)[:, 0]
    rows = (own == other).nonzero()[:, 0]
    correct[rows] = logits[rows].argmax(-1) == label[rows, 0]
    return correct


def _logits_in_chunks(states: Tensor, weight: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Chunks of the logits without bias, in at least 32 bits, and of the rows of the other tensors.

    Each chunk of logits may be overwritten, and is by the next one: the same memory stays in the cache.
    """
    classes = len(weight)
    at_once = _rows_per_chunk(classes, weight.device)
    per_product = max(at_once, _ROWS_PER_PRODUCT) if states.is_cpu else at_once
    products = states.new_empty(min(per_product, len(states)), classes)
    wide = at_least_32_bits(products[:at_once])
    for part, *rest in zip(*(tensor.split(per_product) for tensor in (states, *others)), strict=True):
        product = torch.mm(part, weight.mT, out=products[: len(part)])
        for logits, *more in zip(*(each.split(at_once) for each in (product, *rest)), strict=True):
            yield logits if logits.dtype == wide.dtype else wide[: len(logits)].copy_(logits), *more


def _softmax_(wide: Float[Tensor, "P V"], largest: Float[Tensor, "P 1"]) -> tuple[Tensor, Tensor]:
    """Probabilities [P, V], and the log of the sum of exp(wide - largest) [P, 1], which cannot underflow.

    `wide` is overwritten on a CPU, where torch's softmax, into memory of its own, takes 1.3 times as long.
    """
    if wide.is_cpu:
        total = wide.sub_(largest).exp_().sum(-1, keepdim=True)
        return wide.mul_(total.reciprocal()), total.log()
    probabilities = wide.softmax(-1)
    return probabilities, -probabilities.amax(-1, keepdim=True).log_()


def _zero_rows(matrix: Float[Tensor, "P V"], rows: Bool[Tensor, " P"]) -> None:
    """On a CPU without a pass over all elements, on a GPU without a synchronisation."""
    if matrix.is_cpu:
        matrix.index_fill_(0, rows.nonzero()[:, 0], 0)
    else:
        matrix.masked_fill_(rows[:, None], 0)


def _rows_per_chunk(classes: int, device: torch.device) -> int:
    """Number of rows of logits that are computed with at once."""
    return max(1, _ELEMENTS_PER_CHUNK["cpu" if device.type == "cpu" else "gpu"] // classes)
