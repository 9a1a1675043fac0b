"""Dense layers with prepacked weights against `F.linear`."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.config import Activation
from litebert.model.kernels.native.library import native_kernels, native_library
from litebert.model.layers.block import ACTIVATIONS
from litebert.model.prepacked import prepacked_linear
from litebert.model.prepacked.prepack import has_operators
from litebert.model.prepacked.prepacked_linear import FEW_ROWS, PrepackedLinear
from support.models.native_kernels import BOTH, NEEDS_GCC
from support.models.tolerances import within

pytestmark = pytest.mark.skipif(not has_operators("fp32"), reason="torch without oneDNN")


@pytest.fixture(params=BOTH)
def kernels(request):
    with native_kernels(enabled=request.param):
        yield


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer_of(outputs, inputs, *, bias=True, **options):
    weight, added = random(outputs, inputs, seed=1), random(outputs, seed=2) if bias else None
    return PrepackedLinear(weight, added, **{"dtype": torch.float32, **options}), weight, added


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, FEW_ROWS, FEW_ROWS + 1])
@pytest.mark.usefixtures("kernels")
def test_dense_layer_equals_linear(rows, bias, threads):
    (layer, *parameters), x, residual = layer_of(72, 40, bias=bias), random(rows, 40), random(rows, 72, seed=3)
    torch.set_num_threads(threads)
    expected = F.linear(x, *parameters)
    torch.testing.assert_close(layer(x), expected, **within())
    torch.testing.assert_close(layer.plus(x, residual), expected + residual, **within())


@NEEDS_GCC
@given(st.integers(0, 30), st.integers(1, 70), st.integers(1, 50), st.booleans())
def test_compiled_dense_layer_of_any_size_equals_linear(rows, outputs, inputs, bias):
    (layer, *parameters), x, residual = (
        layer_of(outputs, inputs, bias=bias),
        random(rows, inputs),
        random(outputs, rows),
    )
    del layer.weight  # so oneDNN cannot compute it
    expected = F.linear(x.double(), *(each if each is None else each.double() for each in parameters))
    torch.testing.assert_close(layer(x).double(), expected, **within())
    torch.testing.assert_close(layer.plus(x, residual.T).double(), expected + residual.T, **within())


@pytest.mark.parametrize("activation", [None, *get_args(Activation)])
@pytest.mark.usefixtures("kernels")
def test_dense_layer_has_each_activation(activation):
    layer, weight, bias = layer_of(24, 8, activation=activation)
    expected = F.linear(random(3, 8), weight, bias)
    found = layer(random(3, 8))
    torch.testing.assert_close(found, ACTIVATIONS[activation](expected) if activation else expected, **within())


@pytest.mark.parametrize("shape", [(0, 8), (2, 3, 8)], ids=str)
@pytest.mark.usefixtures("kernels")
def test_dense_layer_keeps_the_dimensions_of_its_input(shape):
    layer, weight, bias = layer_of(24, 8)
    torch.testing.assert_close(layer(random(*shape)), F.linear(random(*shape), weight, bias), **within())


@NEEDS_GCC
def test_number_that_is_not_finite_stays_in_its_row():
    layer, _, _ = layer_of(24, 8)
    x = random(9, 8)
    x[4, 3] = torch.nan
    assert layer(x).isnan().all(1).tolist() == [row == 4 for row in range(9)]


@NEEDS_GCC
def test_large_weights_are_stored_once(monkeypatch):
    monkeypatch.setattr(prepacked_linear, "MOST_ELEMENTS", 100)
    (large, *_), (small, *_) = layer_of(24, 8), layer_of(12, 8)
    assert large.panels is None
    assert small.panels.shape == (1, 8, native_library().panel_width)


@NEEDS_GCC
@pytest.mark.skipif(not has_operators("bf16"), reason="torch has no bf16 products on this processor")
def test_16_bits_are_left_to_onednn():
    layer, weight, bias = layer_of(24, 8, dtype=torch.bfloat16)
    assert layer.panels is None
    assert layer(random(3, 8)).dtype == torch.bfloat16
    assert layer.plus(random(3, 8), random(3, 24)).dtype == torch.float32
    expected = F.linear(random(3, 8), weight, bias)
    assert (layer(random(3, 8)) - expected).norm() < 0.02 * expected.norm()
