"""16-bit attention for training on a CPU, inside each of the concatenated examples.

The backward pass of torch's fused attention in 16 bits takes five times as long as its matrix products. Here examples
are padded to a multiple of 32 tokens, which torch's softmax needs to be fast, and those of equal padded length are
gathered at once; those that follow each other and need no padding are read where they are. Measurements:
docs/results/performance.md.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from litebert.model.kernels.rotary import rotate_stacked_

SCORES_PER_CHUNK: Final = 2**20
"""Few enough to stay in the cache from one operation to the next."""
STORED_WIDTH: Final = 256
"""Largest hidden size at which the probabilities are stored for the backward pass.

Computing them twice takes up to 5 % of a training step at this size and under 1 % at 768; they are 10 to 20 % of the
memory of the activations at 128 tokens, and a share that grows with the length.
"""
_MULTIPLE: Final = 32


@dataclass(frozen=True, eq=False)
class Padding:
    """How examples are read into padded rows, and written back."""

    sources: Int[Tensor, " rows"]
    """The token at each position; past the end of an example its first one."""
    targets: Int[Tensor, " rows"]
    """The same, but past the end of an example N."""
    padding: Int[Tensor, " P"]
    """Positions past the end of an example."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """n examples of equal padded length L: rows = n·L positions, M = n·A matrices."""

    shape: tuple[int, int, int]
    """n, L, A."""
    tokens: slice | Padding
    """Where the examples are; a slice if they follow each other without padding."""
    bias: Float[Tensor, "#M #L L"] | None
    """Minus infinity where a query must not attend to a key; None: each attends to all."""


def attend_16_bits(
    projected: Float[Tensor, "R 3 A D"],
    lengths: Sequence[int],
    *,
    rotation: Float[Tensor, "R pairs 2"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "R A D"]:
    """Attention inside each of the concatenated examples, zeros in the rows after them; `causal`: to no later token.

    `projected` holds queries, keys and values; the first two are rotated by `rotation`, where there is one.
    Probabilities are computed twice above `STORED_WIDTH`. Scores are rounded to 16 bits, as in any attention that is
    not fused. The padded queries, keys and values are stored for the backward pass: those of 5 tokens as 32.
    """
    return _Attention.apply(projected, rotation, tuple(lengths), causal)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, projected: Tensor, rotation: Tensor | None, lengths: tuple[int, ...], causal: bool) -> Tensor:
        rows, _, heads, head_size = projected.shape
        ctx.chunks = chunks_by_length(lengths, heads=heads, causal=causal, dtype=projected.dtype)
        ctx.tokens, ctx.rotation = sum(lengths), rotation
        ctx.stores_probabilities = heads * head_size <= STORED_WIDTH
        contexts, stored = projected.new_empty(rows + 1, 1, heads, head_size), []
        with torch.autocast("cpu", enabled=False):
            for chunk in ctx.chunks:
                stacked = _stack_heads(projected, chunk)
                _rotate(stacked, rotation, chunk)
                query, key, value = stacked
                probabilities = scaled_probabilities(query, key, chunk.bias)
                _unstack_heads(torch.bmm(probabilities, value)[None], contexts, chunk)
                if ctx.needs_input_grad[0]:
                    stored += [stacked, probabilities] if ctx.stores_probabilities else [stacked]
        ctx.save_for_backward(*stored)
        return _without_padding(contexts, ctx.tokens)[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        gradient = grad_outputs[0][:, None]
        stored = iter(ctx.saved_tensors)  # read once, as activation checkpointing demands
        results = gradient.new_empty(len(gradient) + 1, 3, *gradient.shape[2:])
        with torch.autocast("cpu", enabled=False):
            for chunk in ctx.chunks:
                stacked = next(stored)
                if ctx.stores_probabilities:
                    probabilities = next(stored)
                else:
                    probabilities = scaled_probabilities(stacked[0], stacked[1], chunk.bias)
                (grad_contexts,) = _stack_heads(gradient, chunk, zero_padding=True)
                gradients = _attention_gradients(stacked, grad_contexts, probabilities)
                _rotate(gradients, ctx.rotation, chunk, back=True)
                _unstack_heads(gradients, results, chunk)
        return _without_padding(results, ctx.tokens), None, None, None


def scaled_probabilities(
    query: Float[Tensor, "n S D"], key: Float[Tensor, "n S D"], bias: Float[Tensor, "#n #S S"] | None = None
) -> Float[Tensor, "n S S"]:
    """softmax(Q Kᵀ / √D + bias) of every matrix."""
    scale = query.shape[-1] ** -0.5
    if bias is None:
        return torch.baddbmm(query.new_empty(()), query, key.mT, beta=0, alpha=scale).softmax(-1)
    return torch.baddbmm(bias, query, key.mT, alpha=scale).softmax(-1)


def causal_bias(length: int, dtype: torch.dtype) -> Float[Tensor, "1 S S"]:
    """Minus infinity for the keys after each query."""
    return torch.full((1, length, length), float("-inf"), dtype=dtype).triu(1)


def _attention_gradients(
    stacked: Float[Tensor, "3 M L D"], gradient: Float[Tensor, "M L D"], probabilities: Float[Tensor, "M L L"]
) -> Float[Tensor, "3 M L D"]:
    """Gradients of query, key and value, from the gradient of the contexts."""
    query, key, value = stacked
    scale = query.shape[-1] ** -0.5
    gradients = torch.empty_like(stacked)
    torch.bmm(probabilities.mT, gradient, out=gradients[2])
    grad_probabilities = torch.bmm(gradient, value.mT)
    grad_scores = torch._softmax_backward_data(grad_probabilities, probabilities, -1, probabilities.dtype)
    unused = query.new_empty(())  # beta=0: the addend is ignored
    torch.baddbmm(unused, grad_scores, key, beta=0, alpha=scale, out=gradients[0])
    torch.baddbmm(unused, grad_scores.mT, query, beta=0, alpha=scale, out=gradients[1])
    return gradients


@lru_cache(maxsize=2)  # every layer asks for the same
def chunks_by_length(lengths: tuple[int, ...], *, heads: int, causal: bool, dtype: torch.dtype) -> tuple[Chunk, ...]:
    """Examples of equal padded length, as many per chunk as have their scores in the cache."""
    by_length: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for end, length in zip(accumulate(lengths), lengths, strict=True):
        if length:
            by_length[-(-length // _MULTIPLE) * _MULTIPLE].append((end - length, length))
    options: Any = {"heads": heads, "causal": causal, "dtype": dtype}
    chunks = []
    for padded, examples in by_length.items():
        per_chunk = max(1, SCORES_PER_CHUNK // (heads * padded**2))
        whole, shorter = _adjacent(examples, padded), [each for each in examples if each[1] < padded]
        if not whole:
            shorter = examples
        for first in range(0, len(whole), per_chunk):
            starts = whole[first : first + per_chunk]
            tokens = slice(starts[0], starts[-1] + padded)
            bias = causal_bias(padded, dtype) if causal else None
            chunks.append(Chunk((len(starts), padded, heads), tokens, bias))
        if shorter:
            parts = torch.tensor(shorter).split(per_chunk)
            chunks += [_chunk(part[:, 0], part[:, 1], padded, tokens=sum(lengths), **options) for part in parts]
    return tuple(chunks)


def _adjacent(examples: Sequence[tuple[int, int]], length: int) -> list[int]:
    """First tokens of the examples of that length, if each begins where the one before it ends; otherwise none."""
    starts = [start for start, tokens in examples if tokens == length]
    adjacent = all(second == first + length for first, second in pairwise(starts))
    return starts if adjacent else []


def _chunk(
    starts: Int[Tensor, " n"],
    lengths: Int[Tensor, " n"],
    padded: int,
    *,
    heads: int,
    causal: bool,
    dtype: torch.dtype,
    tokens: int,
) -> Chunk:
    """The chunk of examples with these first tokens, of `tokens` in all, that are padded."""
    within = torch.arange(padded)
    at, past = starts[:, None] + within, within >= lengths[:, None]
    bias = None
    if causal:  # no real query comes after the padding
        bias = causal_bias(padded, dtype)
    elif past.any():
        bias = torch.zeros(past.shape, dtype=dtype).masked_fill(past, float("-inf"))
        bias = bias.repeat_interleave(heads, dim=0)[:, None]
    sources, targets = torch.where(past, starts[:, None], at), at.masked_fill(past, tokens)
    rows = Padding(sources.flatten(), targets.flatten(), past.flatten().nonzero()[:, 0])
    return Chunk((len(starts), padded, heads), rows, bias)


def _rotate(stacked: Float[Tensor, "3 M L D"], rotation: Tensor | None, chunk: Chunk, *, back: bool = False) -> None:
    """Rotate queries and keys, or their gradients back, in place."""
    if rotation is not None:
        n, length, heads = chunk.shape
        if isinstance(chunk.tokens, slice):
            rows = rotation[chunk.tokens]
        else:
            rows = rotation.index_select(0, chunk.tokens.sources)
        rows = rows.unflatten(0, (n, 1, length))
        rotate_stacked_(stacked[:2].unflatten(1, (n, heads)), rows, back=back)


def _without_padding(rows: Float[Tensor, "R_plus_1 P A D"], tokens: int) -> Float[Tensor, "R P A D"]:
    """The rows of the tokens, then zeros."""
    rows[tokens:].zero_()
    return rows[:-1]


def _stack_heads(
    tensor: Float[Tensor, "R P A D"], chunk: Chunk, *, zero_padding: bool = False
) -> Float[Tensor, "P M L D"]:
    """One matrix per example and head, of each of the P parts."""
    if isinstance(chunk.tokens, slice):
        rows = tensor[chunk.tokens]
    else:
        rows = tensor.flatten(1).index_select(0, chunk.tokens.sources).unflatten(1, tensor.shape[1:])
        if zero_padding:
            rows.index_fill_(0, chunk.tokens.padding, 0)
    return rows.unflatten(0, chunk.shape[:2]).permute(2, 0, 3, 1, 4).flatten(1, 2).contiguous()


def _unstack_heads(matrices: Float[Tensor, "P M L D"], target: Float[Tensor, "R_plus_1 P A D"], chunk: Chunk) -> None:
    """Inverse of `_stack_heads`, written into `target`."""
    n, length, heads = chunk.shape
    rows = matrices.unflatten(1, (n, heads)).permute(1, 3, 0, 2, 4)  # n L P A D
    if isinstance(chunk.tokens, slice):
        target[chunk.tokens].unflatten(0, (n, length)).copy_(rows)
    else:
        target.flatten(1).index_copy_(0, chunk.tokens.targets, rows.reshape(n * length, -1))
