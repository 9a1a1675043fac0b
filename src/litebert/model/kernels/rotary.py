"""Rotary positions: queries and keys are rotated by angles that grow with the position.

Source: Su et al. 2021, RoFormer (arXiv 2104.09864). Stored weights rotate dimension i with i + D / 2, as those of
transformers; here the two are neighbours (`with_adjacent_pairs`), so that a rotation is a product of complex numbers.
The scores of attention do not depend on the order of the dimensions.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

Rotation = Float[Tensor, "#B S pairs 2"]
"""Cosine and sine of the angle of each pair of dimensions; the same for every head."""


def rotation_at(positions: Int[Tensor, "#B S"], *, head_size: int, theta: float) -> Rotation:
    """Position p has the angles p · theta^(-2 i / D), for i = 0, 1, …, D / 2 - 1."""
    exponents = torch.arange(0, head_size, 2, device=positions.device) / head_size
    angles = positions[..., None] * theta**-exponents
    return torch.stack([angles.cos(), angles.sin()], -1)


def with_adjacent_pairs(rows: Float[Tensor, "H ..."], *, head_size: int) -> Float[Tensor, "H ..."]:
    """The rows of a weight or bias in the order in which rows i and i + D / 2 of each head are neighbours."""
    return rows.unflatten(0, (-1, 2, head_size // 2)).transpose(1, 2).flatten(0, 2)


def rotate(x: Float[Tensor, "B S A D"], rotation: Rotation) -> Float[Tensor, "B S A D"]:
    """`x` with each pair of dimensions (2 i, 2 i + 1) rotated by its angle; computed in at least 32 bits.

    On a CPU a pair must be two neighbours in memory that begin at an even position, as in the output of a dense layer.
    """
    pairs, turns = _pairs(x.to(torch.promote_types(x.dtype, rotation.dtype))), rotation[:, :, None]
    if x.is_cpu and not torch.compiler.is_compiling():  # a compiler has no complex numbers
        turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.view_as_complex(turns))
    else:
        (first, second), (cos, sin) = pairs.unbind(-1), turns.unbind(-1)
        turned = torch.stack([first * cos - second * sin, second * cos + first * sin], -1)
    return turned.flatten(-2).to(x.dtype)


def rotate_heads(
    projected: Float[Tensor, "B S 3 A D"], rotation: Rotation | None
) -> tuple[Float[Tensor, "B S A D"], Float[Tensor, "B S A D"], Float[Tensor, "B S A D"]]:
    """Queries, keys and values; queries and keys are rotated, if there is a rotation."""
    if rotation is None:
        query, key, value = projected.unbind(-3)
        return query, key, value
    both, value = projected.split((2, 1), dim=-3)
    turned = rotate(both.flatten(-3, -2), rotation)  # both at once: fewer kernels to launch
    query, key = turned.unflatten(-2, (2, -1)).unbind(-3)
    return query, key, value.squeeze(-3)


def rotate_stacked_(heads: Float[Tensor, "2 n A L D"], rotation: Float[Tensor, "n 1 L pairs 2"], *, back: bool) -> None:
    """Rotate the queries and keys of n examples in place; `back`: by the opposite angles, as gradients are."""
    turns = torch.view_as_complex(rotation)
    wide = heads.to(torch.promote_types(heads.dtype, rotation.dtype), copy=True)
    torch.view_as_complex(_pairs(wide)).mul_(turns.conj() if back else turns)
    heads.copy_(wide)


def _pairs(x: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows pairs 2"]:
    return x.unflatten(-1, (-1, 2))
