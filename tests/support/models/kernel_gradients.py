"""Random inputs of kernels, attention by torch, and outputs and gradients side by side."""

import torch

from litebert.model.kernels.attention_kernels import attend_by_length
from litebert.model.kernels.rotary import rotate_heads, rotation_at
from support.models.tolerances import tolerance


def random(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Equal random numbers in every dtype, up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.bfloat16).to(dtype)


def with_gradients(function, *inputs: torch.Tensor) -> list[torch.Tensor]:
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    output = function(*leaves)
    output.backward(random(*output.shape, dtype=output.dtype, seed=9))
    return [output.detach(), *(leaf.grad for leaf in leaves)]


def assert_close(ours, expected, dtype) -> None:
    for value, other in zip(ours, expected, strict=True):
        assert value.dtype == dtype
        assert (value.double() - other.double()).norm() <= tolerance(dtype) * max(1, other.double().norm())


def one_row_by_length(projected, lengths, *, rotation=None, causal=False):
    by = None if rotation is None else rotation[None]
    return attend_by_length(*rotate_heads(projected[None], by), lengths, 0.0, causal=causal)[0]


def angles(lengths, *, head_size):
    positions = torch.cat([torch.arange(length) for length in lengths])
    return rotation_at(positions[None], head_size=head_size, theta=100.0)[0]
