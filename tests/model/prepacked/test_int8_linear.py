import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.kernels.native.library import native_kernels
from litebert.model.prepacked.int8_linear import Int8Linear, largest_weight, quantize_rows
from litebert.model.prepacked.prepack import has_operators
from support.models.native_kernels import BOTH
from support.models.tolerances import within

pytestmark = pytest.mark.skipif(not has_operators("int8"), reason="torch without oneDNN")


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 5), st.integers(1, 40), st.floats(1e-3, 1e3))
def test_quantized_rows_are_off_by_at_most_half_a_step(rows, width, scale):
    x = random(rows, width) * scale
    quantized, scales = quantize_rows(x)
    error = (quantized * scales[:, None] - x).abs()
    assert bool((error <= 0.501 * scales[:, None]).all())


def test_quantized_row_of_zeros_is_zeros():
    quantized, scales = quantize_rows(torch.zeros(2, 8))
    assert not quantized.any()
    assert scales.isfinite().all()


@pytest.fixture(params=BOTH)
def kernels(request):
    with native_kernels(enabled=request.param):
        yield


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("rows", [1, 7, 130])
def test_int8_dense_layer_is_the_product_of_the_rounded_operands(rows):
    x, weight, bias = random(rows, 64), random(48, 64, seed=1), random(48, seed=2)
    operands = quantize_rows(x), quantize_rows(weight, largest_weight())
    rounded = [quantized * scales[:, None] for quantized, scales in operands]
    expected = rounded[0] @ rounded[1].T + bias
    torch.testing.assert_close(Int8Linear(weight, bias)(x), expected, **within())


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_int8_dense_layer_adds_a_residual_and_rounds_its_results_once(dtype):
    x, weight, residual = random(3, 64), random(48, 64, seed=1), random(3, 48, seed=2)
    exact, rounded = Int8Linear(weight, None), Int8Linear(weight, None, dtype=dtype)
    assert torch.equal(rounded(x), exact(x).to(dtype))
    torch.testing.assert_close(exact.plus(x, residual), exact(x) + residual)
    assert rounded.plus(x, residual).dtype == dtype


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_int8_dense_layer_adds_a_residual_of_another_dtype(dtype):
    residual = random(3, 48).to(dtype)
    x, dense = random(3, 64), Int8Linear(random(48, 64, seed=1), random(96)[::2])
    torch.testing.assert_close(dense.plus(x, residual), dense(x) + residual.float())


@pytest.mark.usefixtures("kernels")
def test_int8_dense_layer_of_no_rows_has_none():
    assert Int8Linear(random(48, 64), None)(torch.zeros(2, 0, 64)).shape == (2, 0, 48)


@pytest.mark.usefixtures("kernels")
def test_int8_dense_layer_of_a_row_that_is_not_finite_is_nan():
    x = random(4, 64)
    x[1, 3], x[2, 60] = torch.nan, torch.inf
    found = Int8Linear(random(48, 64, seed=1), None)(x)
    assert found[[1, 2]].isnan().all()
    assert found[[0, 3]].isfinite().all()
