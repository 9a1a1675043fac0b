import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from litebert.model.kernels.attention_kernels import (
    attend_by_length,
    attend_reference,
    attend_sdpa,
    attend_varlen,
    attention_probabilities,
)
from litebert.model.kernels.layout import UnpaddedLayout
from support.models.model_builders import padded_mask
from support.models.tolerances import tolerance

HEADS, SIZE = 2, 8
masks = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(lambda shape: arrays(bool, shape).map(torch.from_numpy))


def random_heads(mask: torch.Tensor) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (*mask.shape, HEADS, SIZE)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3)]


def packed_attention(query, key, value, mask):
    layout = UnpaddedLayout.of(mask)
    parts = [tensor.flatten(0, 1)[layout.indices][None] for tensor in (query, key, value)]
    context = attend_by_length(*parts, layout.lengths, 0.0)
    return layout.unpack(context.flatten(2)).unflatten(-1, (HEADS, SIZE))


@settings(deadline=None)
@given(masks)
def test_attention_probabilities_sum_to_one_over_the_real_keys(mask):
    query, key, _ = random_heads(mask)
    probabilities = attention_probabilities(query, key, mask[:, None])
    expected = mask.any(1).to(probabilities.dtype)[:, None, None].expand(-1, HEADS, mask.shape[1])
    assert torch.allclose(probabilities.sum(-1), expected)
    assert not probabilities.transpose(1, 3)[~mask].any()


@settings(deadline=None)
@given(masks)
def test_attention_kernels_equal_the_reference_on_any_mask(mask):
    heads = random_heads(mask)
    expected = attend_reference(*heads, mask[:, None], 0.0)
    real = mask[..., None, None]
    assert torch.allclose(attend_sdpa(*heads, mask[:, None], 0.0), expected, atol=tolerance(torch.float64, "operation"))
    assert torch.allclose(packed_attention(*heads, mask), expected * real, atol=tolerance(torch.float64, "operation"))


@settings(deadline=None)
@given(masks)
def test_attention_kernels_have_the_gradients_of_the_reference(mask):
    def gradients(kernel):
        heads = random_heads(mask)
        (kernel(*heads) * mask[..., None, None]).square().sum().backward()
        return torch.stack([tensor.grad for tensor in heads])

    expected = gradients(lambda *heads: attend_reference(*heads, mask[:, None], 0.0))
    for kernel in (
        lambda *heads: attend_sdpa(*heads, mask[:, None], 0.0),
        lambda *heads: packed_attention(*heads, mask),
    ):
        assert torch.allclose(gradients(kernel), expected, atol=tolerance(torch.float64, "operation"))


@pytest.mark.parametrize("kernel", [attend_reference, attend_sdpa])
def test_attention_dropout_drops_and_rescales_probabilities(kernel):
    mask = padded_mask([8] * 64)
    torch.manual_seed(0)
    heads = random_heads(mask)
    values = [heads[0], heads[1], torch.ones_like(heads[2])]
    contexts = kernel(*values, mask[:, None], 0.5)
    assert contexts.std() > 0.1
    assert contexts.mean().item() == pytest.approx(1, abs=0.05)


def test_attention_dropout_applies_to_unpadded_sequences():
    mask = padded_mask([8, 5])
    query, key, value = random_heads(mask)
    layout = UnpaddedLayout.of(mask)
    parts = [tensor.flatten(0, 1)[layout.indices][None] for tensor in (query, key, torch.ones_like(value))]
    assert attend_by_length(*parts, layout.lengths, 0.5).std() > 0.1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_attention_varlen_kernel_equals_the_loop_over_sequences():
    layout = UnpaddedLayout.of(padded_mask([64, 1, 17]).cuda())
    heads = [torch.randn(1, 82, HEADS, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    ours = attend_varlen(*heads, layout.boundaries, max(layout.lengths))
    assert torch.allclose(ours, attend_by_length(*heads, layout.lengths, 0.0), atol=tolerance(torch.bfloat16))


def test_attention_varlen_kernel_gets_the_concatenated_examples(monkeypatch):
    """On a machine without CUDA, with the kernel replaced by a record of its arguments."""
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    given = []

    def recorded(*arguments, window_size):
        given.append((*arguments, window_size))
        return arguments[2]

    monkeypatch.setattr(varlen, "varlen_attn", recorded)
    query, key, value = (torch.randn(1, 5, HEADS, SIZE) for _ in range(3))
    boundaries = torch.tensor([0, 2, 5])
    assert torch.equal(attend_varlen(query, key, value, boundaries, 3), value)
    (tensors,) = given
    assert all(torch.equal(one, other[0]) for one, other in zip(tensors[:3], (query, key, value), strict=True))
    assert tensors[3] is tensors[4] is boundaries
    assert tensors[5:] == (3, 3, (-1, -1))
    attend_varlen(query, key, value, boundaries, 3, causal=True)
    assert given[1][5:] == (3, 3, (-1, 0))
