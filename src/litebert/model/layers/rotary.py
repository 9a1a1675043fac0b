"""Rotary position embeddings. Source: RoFormer (Su et al., 2021), section 3.2.2."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Rotation(NamedTuple):
    """Cosines and sines of the angles by which queries and keys are rotated; the same for every head."""

    cos: Float[Tensor, "#B S 1 D_half"]
    sin: Float[Tensor, "#B S 1 D_half"]


def rotation(positions: Int[Tensor, "#B S"], *, head_size: int, theta: float) -> Rotation:
    """Position p has the angles p · theta^(-2 i / D), for i = 0, 1, …, D / 2 - 1."""
    exponents = torch.arange(0, head_size, 2, device=positions.device) / head_size
    angles = positions[..., None, None] * theta**-exponents
    return Rotation(angles.cos(), angles.sin())


def rotate(x: Float[Tensor, "B S A D"], by: Rotation) -> Float[Tensor, "B S A D"]:
    """`x` with each pair of dimensions (i, i + D / 2) rotated by its angle, as in transformers; in at least 32 bits."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * by.cos - second * by.sin, second * by.cos + first * by.sin], dim=-1).to(x.dtype)
