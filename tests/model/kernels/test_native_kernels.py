"""The compiled kernels equal the operations of torch: in 32 bits up to rounding, in 16 bits rounded once."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.encoder import Encoder
from litebert.model.kernels.native.activations import native_gated_gelu, native_gelu
from litebert.model.kernels.native.attention import native_attention
from litebert.model.kernels.native.int8_rows import native_quantize_rows, native_rescale_rows
from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.native.norms import native_layer_norm, native_residual
from litebert.model.layers.block import gated, gelu
from litebert.model.layers.layer_norm import LayerNorm
from litebert.model.prepacked.int8_linear import quantize_rows
from litebert.model.presets import preset
from support.models.kernel_gradients import angles, assert_close, one_row_by_length, random, with_gradients
from support.models.native_kernels import NEEDS_GCC

pytestmark = NEEDS_GCC
DTYPES = (torch.float32, torch.bfloat16)
FORMS = {"gelu": "none", "gelu_tanh": "tanh"}


@pytest.mark.parametrize("shape", [(7, 301), (1,), (2, 16), (0, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_native_gelu_and_its_gradients_equal_torch(form, dtype, shape):
    library, (x, up) = native_library(), (4 * random(*shape, dtype=dtype, seed=seed) for seed in (0, 1))
    expected = with_gradients(lambda wide: F.gelu(wide, approximate=FORMS[form]), x.double())
    assert_close(with_gradients(lambda y: native_gelu(library, form, y), x), expected, dtype)
    expected = with_gradients(lambda a, b: F.gelu(a, approximate=FORMS[form]) * b, x.double(), up.double())
    assert_close(with_gradients(lambda a, b: native_gated_gelu(library, form, a, b), x, up), expected, dtype)


@pytest.mark.parametrize("form", FORMS)
def test_native_gelu_of_extreme_values(form):
    values = torch.tensor([0.0, 1e-30, 30.0, 1e4, torch.inf, -30.0, -1e4, torch.nan])
    found = native_gelu(native_library(), form, values)
    assert torch.equal(found[:5], values[:5] * torch.tensor([1, 0.5, 1, 1, 1]))
    assert found[5:7].abs().max() == 0
    assert found[7].isnan()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 5, 16, 40, 256])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_native_layer_norm_and_its_gradients_equal_torch(dtype, size, threads):
    library = native_library()
    x = 3 * random(3, 7, size, dtype=torch.float32) + 5
    weight, bias = (random(size, dtype=torch.float32, seed=seed) for seed in (1, 2))
    torch.set_num_threads(threads)
    found = with_gradients(lambda *inputs: native_layer_norm(library, *inputs, 1e-5, dtype), x, weight, bias)
    expected = with_gradients(
        lambda x, *parameters: F.layer_norm(x, (size,), *parameters, 1e-5).to(dtype),
        x.double(),
        weight.double(),
        bias.double(),
    )
    assert found[0].dtype == dtype
    assert_close(found[:1], expected[:1], dtype)
    assert_close(found[1:], expected[1:], torch.float32)


@pytest.mark.parametrize("shape", [(2, 5, 7), (1, 64)], ids=str)
def test_native_residual_adds_in_32_bits(shape):
    x, y = random(*shape, dtype=torch.float32), random(*shape, dtype=torch.bfloat16, seed=1)
    x.requires_grad_(), y.requires_grad_()
    found = native_residual(native_library(), x, y)
    assert torch.equal(found, x + y.float())
    gradient = random(*shape, dtype=torch.float32, seed=2)
    found.backward(gradient)
    assert torch.equal(x.grad, gradient)
    assert torch.equal(y.grad, gradient.bfloat16())


@given(
    st.lists(st.integers(1, 9) | st.sampled_from([31, 32, 33, 64, 100]), min_size=1, max_size=5),
    st.sampled_from([2, 6, 16, 32, 34, 64]),
    st.sampled_from(DTYPES),
    st.booleans(),
    st.booleans(),
)
def test_native_attention_equals_torch_in_outputs_and_gradients(lengths, head_size, dtype, causal, rotary):
    projected = random(sum(lengths), 3, 2, head_size, dtype=dtype)
    rotation = angles(lengths, head_size=head_size) if rotary else None
    library = native_library()
    found = with_gradients(
        lambda qkv: native_attention(library, qkv, lengths, rotation=rotation, causal=causal), projected
    )
    wide = rotation.double() if rotary else None
    expected = with_gradients(
        lambda qkv: one_row_by_length(qkv, lengths, rotation=wide, causal=causal), projected.double()
    )
    assert_close(found, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_native_attention_gives_zeros_in_the_rows_after_the_examples(dtype):
    lengths = [3, 5, 3]
    projected = random(sum(lengths) + 4, 3, 2, 8, dtype=dtype)
    projected[sum(lengths) :] = torch.nan
    contexts, gradient = with_gradients(lambda qkv: native_attention(native_library(), qkv, lengths), projected)
    assert contexts[: sum(lengths)].isfinite().all()
    assert gradient[: sum(lengths)].isfinite().all()
    assert contexts[sum(lengths) :].abs().max() == gradient[sum(lengths) :].abs().max() == 0


def test_native_attention_of_no_tokens_and_of_two_threads():
    library = native_library()
    assert native_attention(library, torch.zeros(0, 3, 2, 8), [0]).shape == (0, 2, 8)
    projected = random(90, 3, 2, 8, dtype=torch.bfloat16)
    one = with_gradients(lambda qkv: native_attention(library, qkv, [40, 50]), projected)
    torch.set_num_threads(2)
    two = with_gradients(lambda qkv: native_attention(library, qkv, [40, 50]), projected)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_native_attention_leaves_the_products_of_torch_as_they_are():
    """Both configure the tiles of a processor that has them."""
    a, b = (random(96, 96, dtype=torch.bfloat16, seed=seed) for seed in (0, 1))
    before = a @ b
    native_attention(native_library(), random(64, 3, 2, 32, dtype=torch.bfloat16), [64])
    assert torch.equal(a @ b, before)


def test_scores_that_are_not_finite_give_no_finite_context():
    projected = torch.zeros(4, 3, 1, 2)
    projected[2, 0] = torch.nan
    contexts = native_attention(native_library(), projected, [4])
    assert contexts[2].isnan().all()
    assert contexts[[0, 1, 3]].isfinite().all()


@pytest.mark.parametrize("largest", [90.0, 1500.0, 30000.0])
def test_gradients_of_large_scores_sum_to_zero(largest):
    """Probabilities are computed from a logarithm whose rounding grows with the scores."""
    projected = random(40, 3, 2, 16, dtype=torch.float32)
    projected[:, :2] *= (largest / 16) ** 0.5
    found = with_gradients(lambda qkv: native_attention(native_library(), qkv, [40]), projected)[1]
    expected = with_gradients(lambda qkv: one_row_by_length(qkv, [40]), projected.double())[1]
    by_torch = with_gradients(lambda qkv: one_row_by_length(qkv, [40]), projected)[1]
    error, usual = ((each.double() - expected).norm() for each in (found, by_torch))
    assert error <= 2 * usual


@pytest.mark.parametrize(("lengths", "size"), [([], 8), ([4], 7)])
def test_attention_without_examples_or_of_an_odd_size_is_refused(lengths, size):
    with pytest.raises(ValueError, match="attention of"):
        native_attention(native_library(), torch.zeros(4, 3, 2, size), lengths)


def test_gate_and_input_of_different_dtypes_are_computed_by_torch():
    gate, up = random(4, 6, dtype=torch.float32), random(4, 6, dtype=torch.bfloat16, seed=1)
    assert torch.equal(gated(gelu, gate, up), gelu(gate) * up)


@pytest.mark.parametrize("norm", [LayerNorm((4, 8)), LayerNorm(8, elementwise_affine=False), LayerNorm(8, bias=False)])
def test_norms_of_other_forms_are_computed_by_torch(norm):
    x = random(3, 4, 8, dtype=torch.float32)
    assert torch.equal(norm(x), torch.nn.LayerNorm.forward(norm, x))
    assert torch.equal(LayerNorm(8, eps=0)(x), LayerNorm(8, eps=0.0)(x))


def test_batch_without_examples_has_outputs_without_examples():
    encoder = Encoder(preset("modern-tiny").replace(num_hidden_layers=1)).train()
    ids = torch.zeros(0, 3, dtype=torch.int64)
    assert encoder(ids, ids.bool(), ids).last_hidden_state.shape == (0, 3, encoder.config.hidden_size)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 64), (1, 77), (0, 8)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_native_rows_in_8_bits_equal_torch(dtype, shape):
    x = 3 * random(*shape, dtype=dtype)
    x[:, -1] = 0
    found, scales = native_quantize_rows(native_library(), x)
    expected, expected_scales = quantize_rows(x.float())
    assert torch.equal(found.int() - 128, expected.int())  # equal also where one is halfway: none is, with this seed
    assert torch.equal(scales, expected_scales)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("width", [1, 16, 37])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_native_rescaled_rows_equal_torch(dtype, width, threads):
    products, residual = (random(2, 5, width, dtype=torch.float32, seed=seed) for seed in (0, 1))
    scales, bias = random(2, 5, dtype=torch.float32, seed=2), random(width, dtype=torch.float32, seed=3)
    torch.set_num_threads(threads)
    inputs, expected = (products, scales, bias), products * scales[..., None] + bias
    for added, total in ((None, expected), (residual, expected + residual)):
        found = native_rescale_rows(native_library(), *inputs, residual=added, dtype=dtype)
        assert_close([found], [total], dtype)
