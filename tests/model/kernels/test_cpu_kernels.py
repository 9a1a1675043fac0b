"""The CPU kernels equal those of torch: exactly in 64 bits, up to rounding in 16 bits."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.kernels import cpu_kernels
from litebert.model.kernels.attention_kernels import attend_by_length
from litebert.model.kernels.cpu_kernels import attend_16_bits, gelu_tanh
from support.tolerances import TOLERANCES

DTYPES = (torch.float64, torch.float32, torch.bfloat16)


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
        assert (value.double() - other.double()).norm() <= TOLERANCES[dtype] * max(1, other.double().norm())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from([1, 100, 2**20]), st.booleans())
def test_cpu_attention_equals_torch_in_outputs_and_gradients(lengths, scores_at_once, causal):
    heads = [random(sum(lengths), 2, 8, dtype=torch.float64, seed=seed) for seed in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_kernels, "SCORES_PER_CHUNK", scores_at_once)
        ours = with_gradients(lambda *qkv: attend_16_bits(*qkv, lengths, causal=causal), *heads)
    expected = with_gradients(
        lambda *qkv: attend_by_length(*(x[None] for x in qkv), lengths, 0.0, causal=causal)[0], *heads
    )
    assert_close(ours, expected, torch.float64)


def test_cpu_attention_in_16_bits_equals_64_bits_up_to_rounding():
    lengths = [33, 7, 33, 64]
    heads = [random(sum(lengths), 2, 16, dtype=torch.bfloat16, seed=seed) for seed in range(3)]
    ours = with_gradients(lambda *qkv: attend_16_bits(*qkv, lengths), *heads)
    wide = [tensor.double() for tensor in heads]
    assert_close(ours, with_gradients(lambda *qkv: attend_16_bits(*qkv, lengths), *wide), torch.bfloat16)


def test_cpu_attention_ignores_autocast():
    heads = [random(5, 2, 8, dtype=torch.bfloat16, seed=seed) for seed in range(3)]
    with torch.autocast("cpu", torch.bfloat16):
        inside = attend_16_bits(*heads, [5])
    assert torch.equal(inside, attend_16_bits(*heads, [5]))


def test_cpu_attention_of_no_tokens_is_empty():
    assert attend_16_bits(*[torch.zeros(0, 2, 8, dtype=torch.bfloat16)] * 3, [0]).shape == (0, 2, 8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_cpu_gelu_and_its_gradient_equal_torch(dtype, monkeypatch):
    monkeypatch.setattr(cpu_kernels, "_ELEMENTS_PER_CHUNK", 1000)
    x = 4 * random(7, 301, dtype=dtype)
    expected = with_gradients(lambda wide: F.gelu(wide, approximate="tanh"), x.double())
    assert_close(with_gradients(gelu_tanh, x), expected, dtype)


@pytest.mark.parametrize("value", [0.0, -1e4, 1e4, float("inf")])
def test_cpu_gelu_of_large_values_equals_torch(value):
    x = torch.tensor([value])
    assert torch.equal(gelu_tanh(x), F.gelu(x, approximate="tanh"))


def test_cpu_gelu_accepts_any_memory_layout():
    x = random(6, 4, dtype=torch.float32).T
    ours, expected = with_gradients(gelu_tanh, x), with_gradients(lambda y: F.gelu(y, approximate="tanh"), x)
    assert_close(ours, expected, torch.float32)


def test_cpu_gelu_saves_one_tensor_for_the_backward():
    kept = []
    x = random(8, 16, dtype=torch.bfloat16).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        gelu_tanh(x)
    assert [tensor.numel() for tensor in kept] == [x.numel()]
