"""Attention inside each of the concatenated examples, without scores in memory."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from litebert.model.kernels.native.library import NativeLibrary


def native_attention(
    library: NativeLibrary,
    projected: Float[Tensor, "R 3 A D"],
    lengths: Sequence[int],
    *,
    rotation: Float[Tensor, "R pairs 2"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "R A D"]:
    """As `attend_16_bits`, for an even D: scores and probabilities stay in 32 bits between the products."""
    return _Attention.apply(library, projected.contiguous(), rotation, tuple(lengths), causal)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        library: NativeLibrary,
        projected: Tensor,
        rotation: Tensor | None,
        lengths: tuple[int, ...],
        causal: bool,
    ) -> Tensor:
        rows, _, heads, head_size = projected.shape
        angles = (None, None) if rotation is None else tuple(part.contiguous() for part in rotation.float().unbind(-1))
        examples = _starts_and_lengths(lengths)
        ctx.problem = (*angles, *examples, len(lengths), heads, head_size, causal)
        ctx.library, ctx.tokens = library, sum(lengths)
        contexts = projected.new_empty(rows, heads, head_size)
        contexts[ctx.tokens :].zero_()
        log_sums = projected.new_empty(rows, heads, dtype=torch.float32)
        library.run("attention_forward", projected.dtype, projected, *ctx.problem, contexts, log_sums)
        ctx.save_for_backward(projected, log_sums)
        return contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        projected, log_sums = ctx.saved_tensors
        result, gradient = torch.empty_like(projected), grad_outputs[0].contiguous()
        result[ctx.tokens :].zero_()
        ctx.library.run("attention_backward", projected.dtype, projected, *ctx.problem, gradient, log_sums, result)
        return None, result, None, None, None


@lru_cache(maxsize=2)  # every layer asks for the same
def _starts_and_lengths(lengths: tuple[int, ...]) -> tuple[Int[Tensor, " examples"], Int[Tensor, " examples"]]:
    return torch.tensor([0, *accumulate(lengths[:-1])]), torch.tensor(lengths)
