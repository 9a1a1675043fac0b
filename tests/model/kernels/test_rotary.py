"""Rotary positions: the definition by matrices, norms, and the gradient."""

import pytest
import torch

from litebert.model.kernels.rotary import rotate, rotate_heads, rotation_at, with_adjacent_pairs
from support.models.kernel_gradients import random, with_gradients
from support.models.tolerances import tolerance, within


def by_matrices(x, positions, theta):
    """Dimensions 2 i and 2 i + 1 turned by p · theta^(-2 i / D)."""
    half = x.shape[-1] // 2
    angles = positions[..., None] * theta ** -(torch.arange(half) / half)
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)  # B S pairs 2 2
    return torch.einsum("bspij,bsapj->bsapi", matrices, x.unflatten(-1, (half, 2))).flatten(-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("compiling", [False, True])
def test_rotation_and_its_gradient_are_those_of_matrices(dtype, compiling, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    x, positions = random(2, 7, 3, 8, dtype=dtype), torch.arange(14).view(2, 7)
    by = rotation_at(positions, head_size=8, theta=10_000.0)
    ours = with_gradients(lambda x: rotate(x, by), x)
    expected = with_gradients(lambda x: by_matrices(x, positions, 10_000.0), x.float())
    for value, other in zip(ours, expected, strict=True):
        assert value.dtype == dtype
        assert torch.allclose(value.float(), other, **within(dtype))


@pytest.mark.parametrize("compiling", [False, True])
def test_rotated_heads_and_their_gradients_are_those_of_each_alone(compiling, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    projected = random(2, 7, 3, 4, 8, dtype=torch.float32)
    by = rotation_at(torch.arange(14).view(2, 7), head_size=8, theta=10_000.0)

    def alone(x):
        query, key, value = x.unbind(-3)
        return torch.stack([rotate(query, by), rotate(key, by), value])

    ours = with_gradients(lambda x: torch.stack(rotate_heads(x, by)), projected)
    for value, other in zip(ours, with_gradients(alone, projected), strict=True):
        assert torch.equal(value, other)
    assert torch.equal(torch.stack(rotate_heads(projected, None)), projected.movedim(-3, 0))


def test_rotation_keeps_norms_and_products_of_equal_distances():
    query, key = random(1, 1, 1, 8, dtype=torch.float32, seed=1), random(1, 1, 1, 8, dtype=torch.float32, seed=2)

    def turned(x, position):
        return rotate(x, rotation_at(torch.tensor([[position]]), head_size=8, theta=100.0))

    products = [(turned(query, p + 3) * turned(key, p)).sum() for p in (0, 5, 40)]
    assert torch.allclose(torch.stack(products), products[0].expand(3), atol=tolerance())
    assert torch.allclose(turned(query, 7).norm(), query.norm(), atol=tolerance())


def test_scores_of_adjacent_pairs_are_those_of_halves():
    """The stored order of the dimensions is that of transformers: i is rotated with i + D / 2."""
    heads, size = 3, 8
    x, positions = random(1, 7, 16, dtype=torch.float32), torch.arange(7)[None]
    weights = [random(heads * size, 16, dtype=torch.float32, seed=seed) for seed in (1, 2)]
    by = rotation_at(positions, head_size=size, theta=100.0)

    def of_halves(projected):
        first, second = projected.unflatten(-1, (heads, 2, size // 2)).unbind(-2)
        cos, sin = (part[:, :, None] for part in by.unbind(-1))
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def adjacent(weight):
        return rotate((x @ with_adjacent_pairs(weight, head_size=size).T).unflatten(-1, (heads, size)), by)

    scores = [
        torch.einsum("bqad,bkad->baqk", *map(turned, operands))
        for turned, operands in ((of_halves, [x @ weight.T for weight in weights]), (adjacent, weights))
    ]
    assert torch.allclose(*scores, rtol=tolerance(), atol=tolerance() * scores[0].abs().max().item())
