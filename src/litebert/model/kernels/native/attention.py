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
    """As `attend_16_bits`, for an even D and at least one length: scores stay in 32 bits between the products."""
    if not lengths or projected.shape[-1] % 2:
        head_size = projected.shape[-1]
        raise ValueError(f"attention of {len(lengths)} examples, heads of {head_size}: needs examples and an even size")
    inputs = library, projected.contiguous(), rotation, tuple(lengths), causal
    return _Attention.apply(*inputs) if torch.is_grad_enabled() else _forward(*inputs)[0]


def _forward(
    library: NativeLibrary, projected: Tensor, rotation: Tensor | None, lengths: tuple[int, ...], causal: bool
) -> tuple[Float[Tensor, "R A D"], Float[Tensor, "R A"]]:
    """The contexts, and the logarithm of the sum of each softmax."""
    contexts = projected.new_empty(len(projected), *projected.shape[2:])
    contexts[sum(lengths) :].zero_()
    log_sums = projected.new_empty(*contexts.shape[:2], dtype=torch.float32)
    problem = _problem(projected, rotation, lengths, causal)
    library.run("attention_forward", projected.dtype, *problem, contexts, log_sums)
    return contexts, log_sums


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
        ctx.library, ctx.lengths, ctx.causal = library, lengths, causal
        contexts, log_sums = _forward(library, projected, rotation, lengths, causal)
        ctx.save_for_backward(projected, rotation, log_sums)
        return contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:  # pyrefly: ignore[bad-override]
        projected, rotation, log_sums = ctx.saved_tensors
        result = torch.empty_like(projected)
        result[sum(ctx.lengths) :].zero_()
        problem = _problem(projected, rotation, ctx.lengths, ctx.causal)
        inputs = grad_outputs[0].contiguous(), log_sums
        ctx.library.run("attention_backward", projected.dtype, *problem, *inputs, result)
        return None, result, None, None, None


def _problem(
    projected: Float[Tensor, "R 3 A D"],
    rotation: Float[Tensor, "R pairs 2"] | None,
    lengths: tuple[int, ...],
    causal: bool,
) -> tuple[Tensor | int | None, ...]:
    """The first arguments of both kernels."""
    angles = (None, None) if rotation is None else tuple(part.contiguous() for part in rotation.float().unbind(-1))
    return projected, *angles, *starts_and_lengths(lengths), len(lengths), *projected.shape[2:], causal


@lru_cache(maxsize=2)  # every layer asks for the same
def starts_and_lengths(lengths: tuple[int, ...]) -> tuple[Int[Tensor, " examples"], Int[Tensor, " examples"]]:
    """The first row of each of the concatenated examples, and its number of rows."""
    return torch.tensor([0, *accumulate(lengths[:-1])]), torch.tensor(lengths)
