"""tanh GELU on a CPU equals that of torch."""

import pytest
import torch
import torch.nn.functional as F

from litebert.model.kernels import cpu_gelu
from litebert.model.kernels.cpu_gelu import gelu_tanh
from support.models.kernel_gradients import assert_close, random, with_gradients

DTYPES = (torch.float64, torch.float32, torch.bfloat16)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_cpu_gelu_and_its_gradient_equal_torch(dtype, monkeypatch):
    monkeypatch.setattr(cpu_gelu, "_ELEMENTS_PER_CHUNK", 1000)
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
