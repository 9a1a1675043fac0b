"""What torch computes slowly on a CPU, written anew. Before: `kernels.py`, `activations.py`. After: oneDNN's products.

The backward of torch's fused attention in 16 bits takes five times as long as the products in it, and its tanh-GELU as
long as a product of half the hidden width. Measurements: docs/performance.md.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

_SCORES_AT_ONCE: Final = 2**20
_ELEMENTS_AT_ONCE: Final = 2**18
"""So many stay in the cache from one operation to the next."""
_SLOPE: Final = 2 * (2 / torch.pi) ** 0.5
_CUBIC: Final = 0.044715


def attend_16_bits(
    query: Float[Tensor, "N A D"], key: Float[Tensor, "N A D"], value: Float[Tensor, "N A D"], lengths: Sequence[int]
) -> Float[Tensor, "N A D"]:
    """Attention inside each of the examples that lie end to end. Probabilities are never kept: made twice, they cost
    less than a trip through memory. Scores are rounded to 16 bits, as in any attention that is not fused.
    """
    return _Attention.apply(query, key, value, lengths)


def gelu_tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`F.gelu(x, approximate="tanh")`, by the sigmoid: (1 + tanh u) / 2 = sigmoid 2u."""
    return _GeluTanh.apply(x) if x.requires_grad and torch.is_grad_enabled() else _gelu_tanh(x, derivative=None)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int]) -> Tensor:
        ctx.save_for_backward(query, key, value)
        ctx.lengths = lengths
        contexts = torch.empty_like(query)
        with torch.autocast("cpu", enabled=False):
            for slices in _together(lengths, heads=query.shape[1]):
                q, k, v = (_heads_first(tensor, slices) for tensor in (query, key, value))
                _put_back(torch.bmm(_probabilities(q, k), v), contexts, slices)
        return contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        inputs = ctx.saved_tensors
        results = [torch.empty_like(tensor) for tensor in inputs]
        with torch.autocast("cpu", enabled=False):
            for slices in _together(ctx.lengths, heads=inputs[0].shape[1]):
                parts = [_heads_first(tensor, slices) for tensor in (*inputs, grad_outputs[0])]
                for gradient, result in zip(_attention_gradients(*parts), results, strict=True):
                    _put_back(gradient, result, slices)
        return *results, None


def _probabilities(query: Float[Tensor, "n S D"], key: Float[Tensor, "n S D"]) -> Float[Tensor, "n S S"]:
    scores = torch.baddbmm(query.new_empty(()), query, key.mT, beta=0, alpha=query.shape[-1] ** -0.5)
    return scores.softmax(-1)


def _attention_gradients(
    query: Float[Tensor, "n S D"], key: Float[Tensor, "n S D"], value: Float[Tensor, "n S D"], above: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and value, from that of the contexts."""
    probabilities, scale = _probabilities(query, key), query.shape[-1] ** -0.5
    of_value = torch.bmm(probabilities.mT, above)
    of_probabilities = torch.bmm(above, value.mT)
    of_scores = torch._softmax_backward_data(of_probabilities, probabilities, -1, probabilities.dtype)
    nothing = query.new_empty(())
    of_query = torch.baddbmm(nothing, of_scores, key, beta=0, alpha=scale)
    of_key = torch.baddbmm(nothing, of_scores.mT, query, beta=0, alpha=scale)
    return of_query, of_key, of_value


def _together(lengths: Sequence[int], *, heads: int) -> Iterator[list[slice]]:
    """Where examples of one length lie, as many at a time as have their scores in the cache."""
    by_length: dict[int, list[slice]] = defaultdict(list)
    for end, length in zip(accumulate(lengths), lengths, strict=True):
        by_length[length].append(slice(end - length, end))
    for length, slices in by_length.items():
        at_once = max(1, _SCORES_AT_ONCE // max(1, heads * length**2))
        for first in range(0, len(slices), at_once):
            yield slices[first : first + at_once]


def _heads_first(tensor: Float[Tensor, "N A D"], slices: Sequence[slice]) -> Float[Tensor, "n S D"]:
    """Each head of each of the examples as one matrix."""
    return torch.cat([tensor[part].transpose(0, 1) for part in slices])


def _put_back(heads: Float[Tensor, "n S D"], target: Float[Tensor, "N A D"], slices: Sequence[slice]) -> None:
    """The opposite of `_heads_first`, into `target`."""
    for part, matrices in zip(slices, heads.split(target.shape[1]), strict=True):
        target[part] = matrices.transpose(0, 1)


class _GeluTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        # The derivative is kept in the place of the input: it needs the same sigmoid.
        derivative = torch.empty_like(x, memory_format=torch.contiguous_format)
        result = _gelu_tanh(x, derivative=derivative)
        ctx.save_for_backward(derivative)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:  # pyrefly: ignore[bad-override]
        (derivative,) = ctx.saved_tensors
        return grad_outputs[0] * derivative


def _gelu_tanh(x: Tensor, *, derivative: Tensor | None) -> Tensor:
    """GELU of `x`, and its derivative into `derivative` if wanted."""
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    outs = [result] if derivative is None else [result, derivative]
    for part, *targets in zip(*(tensor.view(-1).split(_ELEMENTS_AT_ONCE) for tensor in (x.contiguous(), *outs))):
        wide = part.to(torch.promote_types(part.dtype, torch.float32), copy=True)
        square = wide.square()
        gate = square.mul(_SLOPE * _CUBIC).add_(_SLOPE).mul_(wide).sigmoid_()
        if derivative is not None:  # gate · (1 + (1 - gate) · inner), inner being x times the slope in the sigmoid
            inner = square.mul_(3 * _SLOPE * _CUBIC).add_(_SLOPE).mul_(wide)
            targets[1].copy_(inner.addcmul_(inner, gate, value=-1).add_(1).mul_(gate))
        targets[0].copy_(wide.mul_(gate))
    return result
