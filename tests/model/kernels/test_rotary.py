"""Rotary positions: the definition by complex numbers, norms, and the gradient."""

import pytest
import torch

from litebert.model.kernels.rotary import rotate, rotation
from support.models.kernel_gradients import random, with_gradients
from support.models.tolerances import tolerance, within


def by_complex_numbers(x, positions, theta):
    """Dimension i is the real and i + D / 2 the imaginary part, turned by p · theta^(-2 i / D)."""
    half = x.shape[-1] // 2
    turn = positions[..., None] * theta ** -(torch.arange(half) / half)
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(turn), turn)[:, :, None]
    return torch.cat([turned.real, turned.imag], -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rotation_and_its_gradient_are_those_of_complex_numbers(dtype):
    x, positions = random(2, 7, 3, 8, dtype=dtype), torch.arange(14).view(2, 7)
    by = rotation(positions, head_size=8, theta=10_000.0)
    ours = with_gradients(lambda x: rotate(x, by), x)
    expected = with_gradients(lambda x: by_complex_numbers(x, positions, 10_000.0), x.float())
    for value, other in zip(ours, expected, strict=True):
        assert value.dtype == dtype
        assert torch.allclose(value.float(), other, **within(dtype))


def test_rotation_keeps_norms_and_products_of_equal_distances():
    query, key = random(1, 1, 1, 8, dtype=torch.float32, seed=1), random(1, 1, 1, 8, dtype=torch.float32, seed=2)

    def turned(x, position):
        return rotate(x, rotation(torch.tensor([[position]]), head_size=8, theta=100.0))

    products = [(turned(query, p + 3) * turned(key, p)).sum() for p in (0, 5, 40)]
    assert torch.allclose(torch.stack(products), products[0].expand(3), atol=tolerance())
    assert torch.allclose(turned(query, 7).norm(), query.norm(), atol=tolerance())
