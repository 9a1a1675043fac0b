"""CPU kernels that replace slow ones of torch: 16-bit attention and tanh GELU.

The backward pass of torch's fused attention in 16 bits takes five times as long as its matrix products, and its tanh
GELU as long as a product of half the hidden width. Measurements: docs/results/performance.md.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

SCORES_PER_CHUNK: Final = 2**20
_ELEMENTS_PER_CHUNK: Final = 2**18
"""Few enough to stay in the cache from one operation to the next."""
_SLOPE: Final = 2 * (2 / torch.pi) ** 0.5
_CUBIC: Final = 0.044715


def attend_16_bits(
    query: Float[Tensor, "N A D"],
    key: Float[Tensor, "N A D"],
    value: Float[Tensor, "N A D"],
    lengths: Sequence[int],
    *,
    causal: bool = False,
) -> Float[Tensor, "N A D"]:
    """Attention inside each of the concatenated examples; `causal`: to no later token.

    Probabilities are not stored: computing them twice costs less than the memory traffic. Scores are rounded to 16
    bits, as in any attention that is not fused.
    """
    return _Attention.apply(query, key, value, lengths, causal)


def gelu_tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`F.gelu(x, approximate="tanh")`, computed with (1 + tanh u) / 2 = sigmoid(2 u)."""
    return _GeluTanh.apply(x) if x.requires_grad and torch.is_grad_enabled() else _gelu_tanh(x, derivative=None)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int], causal: bool) -> Tensor:
        ctx.save_for_backward(query, key, value)
        ctx.lengths, ctx.causal = lengths, causal
        contexts = torch.empty_like(query)
        with torch.autocast("cpu", enabled=False):
            for slices in _chunks(lengths, heads=query.shape[1]):
                q, k, v = (_stack_heads(tensor, slices) for tensor in (query, key, value))
                _unstack_heads(torch.bmm(scaled_probabilities(q, k, causal=causal), v), contexts, slices)
        return contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        inputs = ctx.saved_tensors
        results = [torch.empty_like(tensor) for tensor in inputs]
        with torch.autocast("cpu", enabled=False):
            for slices in _chunks(ctx.lengths, heads=inputs[0].shape[1]):
                parts = [_stack_heads(tensor, slices) for tensor in (*inputs, grad_outputs[0])]
                for gradient, result in zip(_attention_gradients(*parts, causal=ctx.causal), results, strict=True):
                    _unstack_heads(gradient, result, slices)
        return *results, None, None


def scaled_probabilities(
    query: Float[Tensor, "n S D"], key: Float[Tensor, "n S D"], *, causal: bool = False
) -> Float[Tensor, "n S S"]:
    """softmax(Q Kᵀ / √D) of every matrix; with `causal` 0 for the keys after the query."""
    length, scale = query.shape[1], query.shape[-1] ** -0.5
    if not causal:
        return torch.baddbmm(query.new_empty(()), query, key.mT, beta=0, alpha=scale).softmax(-1)
    later = query.new_full((length, length), float("-inf")).triu(1)
    return torch.baddbmm(later, query, key.mT, alpha=scale).softmax(-1)


def _attention_gradients(
    query: Float[Tensor, "n S D"],
    key: Float[Tensor, "n S D"],
    value: Float[Tensor, "n S D"],
    gradient: Tensor,
    *,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and value, from the gradient of the contexts."""
    probabilities, scale = scaled_probabilities(query, key, causal=causal), query.shape[-1] ** -0.5
    grad_value = torch.bmm(probabilities.mT, gradient)
    grad_probabilities = torch.bmm(gradient, value.mT)
    grad_scores = torch._softmax_backward_data(grad_probabilities, probabilities, -1, probabilities.dtype)
    unused = query.new_empty(())  # beta=0: the addend is ignored
    grad_query = torch.baddbmm(unused, grad_scores, key, beta=0, alpha=scale)
    grad_key = torch.baddbmm(unused, grad_scores.mT, query, beta=0, alpha=scale)
    return grad_query, grad_key, grad_value


def _chunks(lengths: Sequence[int], *, heads: int) -> Iterator[list[slice]]:
    """Slices of examples of equal length, as many per chunk as have their scores in the cache."""
    by_length: dict[int, list[slice]] = defaultdict(list)
    for end, length in zip(accumulate(lengths), lengths, strict=True):
        by_length[length].append(slice(end - length, end))
    for length, slices in by_length.items():
        per_chunk = max(1, SCORES_PER_CHUNK // max(1, heads * length**2))
        for first in range(0, len(slices), per_chunk):
            yield slices[first : first + per_chunk]


def _stack_heads(tensor: Float[Tensor, "N A D"], slices: Sequence[slice]) -> Float[Tensor, "n S D"]:
    """One matrix per example and head."""
    return torch.cat([tensor[part].transpose(0, 1) for part in slices])


def _unstack_heads(heads: Float[Tensor, "n S D"], target: Float[Tensor, "N A D"], slices: Sequence[slice]) -> None:
    """Inverse of `_stack_heads`, written into `target`."""
    for part, matrices in zip(slices, heads.split(target.shape[1]), strict=True):
        target[part] = matrices.transpose(0, 1)


class _GeluTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        # The derivative is saved instead of the input: it needs the same sigmoid.
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
    """GELU of `x`; writes its derivative into `derivative`, if given."""
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    outs = [result] if derivative is None else [result, derivative]
    for part, *targets in zip(*(tensor.view(-1).split(_ELEMENTS_PER_CHUNK) for tensor in (x.contiguous(), *outs))):
        wide = part.to(torch.promote_types(part.dtype, torch.float32), copy=True)
        square = wide.square()
        gate = square.mul(_SLOPE * _CUBIC).add_(_SLOPE).mul_(wide).sigmoid_()
        if derivative is not None:  # gate · (1 + (1 - gate) · inner), inner = x · d(2 u)/dx
            inner = square.mul_(3 * _SLOPE * _CUBIC).add_(_SLOPE).mul_(wide)
            targets[1].copy_(inner.addcmul_(inner, gate, value=-1).add_(1).mul_(gate))
        targets[0].copy_(wide.mul_(gate))
    return result
