"""Rotary positions: queries and keys are rotated by angles that grow with the position.

Source: Su et al. 2021, RoFormer (arXiv 2104.09864); the pairs of dimensions are those of transformers.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Rotation(NamedTuple):
    """Cosines and sines of the angles; the same for every head."""

    cos: Float[Tensor, "#B S 1 D"]
    sin: Float[Tensor, "#B S 1 D"]
    """Negative in the first half."""


def rotation(positions: Int[Tensor, "#B S"], *, head_size: int, theta: float) -> Rotation:
    """Position p has the angles p · theta^(-2 i / D), for i = 0, 1, …, D / 2 - 1."""
    exponents = torch.arange(0, head_size, 2, device=positions.device) / head_size
    angles = positions[..., None, None] * theta**-exponents
    cos, sin = angles.cos(), angles.sin()
    return Rotation(torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1))


def rotate(x: Float[Tensor, "B S A D"], by: Rotation) -> Float[Tensor, "B S A D"]:
    """`x` with each pair of dimensions (i, i + D / 2) rotated by its angle; computed in at least 32 bits."""
    if x.is_cpu and not torch.compiler.is_compiling():
        return _Rotate.apply(x, by.cos, by.sin)
    return _rotated(x, by.cos, by.sin)


class _Rotate(torch.autograd.Function):
    """The gradient is rotated back; nothing but the angles is saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotated(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None, None]:  # pyrefly: ignore[bad-override]
        cos, sin = ctx.saved_tensors
        return _rotated(grad_outputs[0], cos, -sin), None, None


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    wide = x.to(torch.promote_types(x.dtype, cos.dtype))
    return torch.addcmul(wide * cos, wide.roll(x.shape[-1] // 2, -1), sin).to(x.dtype)
