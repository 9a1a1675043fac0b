"""16-bit attention on a CPU equals that of torch: exactly in 64 bits, up to rounding in 16 bits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.kernels import cpu_attention
from litebert.model.kernels.cpu_attention import attend_16_bits
from litebert.model.kernels.length_groups import attend_in_groups, length_groups
from litebert.model.kernels.rotary import rotation_at
from support.models.kernel_gradients import angles, assert_close, one_row_by_length, random, with_gradients


def in_groups(projected, lengths):
    return attend_in_groups(*projected.unbind(1), length_groups(lengths))


@given(
    st.lists(st.integers(1, 9) | st.sampled_from([32, 64]), min_size=1, max_size=6),
    st.sampled_from([1, 100, 2**13, 2**20]),
    st.sampled_from([15, 16]),
    st.booleans(),
    st.booleans(),
)
def test_cpu_attention_equals_torch_in_outputs_and_gradients(lengths, scores_at_once, stored_width, causal, rotary):
    projected = random(sum(lengths), 3, 2, 8, dtype=torch.float64)
    options = {"causal": causal, "rotation": angles(lengths, head_size=8).double() if rotary else None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_attention, "SCORES_PER_CHUNK", scores_at_once)
        patch.setattr(cpu_attention, "STORED_WIDTH", stored_width)
        cpu_attention.chunks_by_length.cache_clear()
        ours = with_gradients(lambda qkv: attend_16_bits(qkv, lengths, **options), projected)
    expected = with_gradients(lambda qkv: one_row_by_length(qkv, lengths, **options), projected)
    assert_close(ours, expected, torch.float64)


@pytest.mark.parametrize("lengths", [[32, 32], [32, 7, 32]])
def test_cpu_attention_rotates_each_example_by_its_own_positions(lengths):
    """Examples of a mask with holes have positions that are not 0, 1, 2, …"""
    projected = random(sum(lengths), 3, 2, 8, dtype=torch.float64)
    positions = torch.cat([torch.arange(length) * (1 + index) for index, length in enumerate(lengths)])
    by = rotation_at(positions[None], head_size=8, theta=100.0)[0].double()
    found = with_gradients(lambda qkv: attend_16_bits(qkv, lengths, rotation=by), projected)
    expected = with_gradients(lambda qkv: one_row_by_length(qkv, lengths, rotation=by), projected)
    assert_close(found, expected, torch.float64)


@pytest.mark.parametrize("rotary", [False, True])
def test_cpu_attention_in_16_bits_equals_64_bits_up_to_rounding(rotary):
    lengths = [33, 7, 33, 64]
    projected = random(sum(lengths), 3, 2, 16, dtype=torch.bfloat16)
    by = angles(lengths, head_size=16) if rotary else None
    ours = with_gradients(lambda qkv: attend_16_bits(qkv, lengths, rotation=by), projected)
    expected = with_gradients(lambda qkv: attend_16_bits(qkv, lengths, rotation=by), projected.double())
    assert_close(ours, expected, torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("attend", [attend_16_bits, one_row_by_length, in_groups])
def test_attention_gives_zeros_in_the_rows_after_the_examples_whatever_these_hold(attend, dtype):
    lengths = [3, 5, 3]
    projected = random(sum(lengths) + 4, 3, 2, 8, dtype=dtype)
    projected[sum(lengths) :] = torch.nan
    contexts, gradient = with_gradients(lambda qkv: attend(qkv, lengths)[: sum(lengths)], projected)
    expected = with_gradients(lambda qkv: attend(qkv, lengths), projected[: sum(lengths)])
    assert_close([contexts, gradient[: sum(lengths)]], expected, dtype)
    assert attend(projected, lengths)[sum(lengths) :].abs().max() == 0
    assert gradient[sum(lengths) :].abs().max() == 0


@pytest.mark.parametrize(("heads", "stored"), [(16, 1), (17, 0)])
def test_cpu_attention_stores_probabilities_of_narrow_models_only(heads, stored):
    projected = random(32, 3, heads, 16, dtype=torch.bfloat16).requires_grad_()
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
        attend_16_bits(projected, [32])
    assert [tensor.shape for tensor in saved] == [(3, heads, 32, 16), *[(heads, 32, 32)] * stored]


def test_cpu_attention_ignores_autocast():
    projected = random(5, 3, 2, 8, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        inside = attend_16_bits(projected, [5])
    assert torch.equal(inside, attend_16_bits(projected, [5]))


def test_cpu_attention_of_no_tokens_is_empty():
    assert attend_16_bits(torch.zeros(0, 3, 2, 8, dtype=torch.bfloat16), [0]).shape == (0, 2, 8)


@given(st.lists(st.integers(1, 70) | st.sampled_from([32, 64]), min_size=1, max_size=9), st.booleans())
def test_cpu_attention_reads_and_writes_each_token_once(lengths, causal):
    chunks = cpu_attention.chunks_by_length(tuple(lengths), heads=1, causal=causal, dtype=torch.float32)
    tokens, written = torch.arange(sum(lengths)), []
    for chunk in chunks:
        rows = chunk.tokens
        if isinstance(rows, slice):
            written.append(tokens[rows])
            continue
        inside = rows.targets < len(tokens)
        written.append(rows.targets[inside])
        assert torch.equal(rows.sources[inside], rows.targets[inside])
        assert torch.equal((~inside).nonzero()[:, 0], rows.padding)
    assert torch.equal(torch.cat(written).sort().values, tokens)


@pytest.mark.parametrize(
    ("lengths", "sliced"),
    [
        ([64, 64, 64, 33, 7], [slice(0, 128), slice(128, 192)]),
        ([64, 7, 64], []),
        ([32, 7], [slice(0, 32)]),
        ([31, 31], []),
    ],
)
def test_cpu_attention_copies_no_adjacent_examples_without_padding(monkeypatch, lengths, sliced):
    monkeypatch.setattr(cpu_attention, "SCORES_PER_CHUNK", 2 * 64**2)
    cpu_attention.chunks_by_length.cache_clear()
    chunks = cpu_attention.chunks_by_length(tuple(lengths), heads=1, causal=False, dtype=torch.float32)
    assert [chunk.tokens for chunk in chunks if isinstance(chunk.tokens, slice)] == sliced
    assert all(chunk.bias is None for chunk in chunks if isinstance(chunk.tokens, slice))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("lengths", [[65, 40], [7] * 70, [7] * 3], ids=["long", "short and many", "short and few"])
def test_attention_in_groups_equals_64_bits_up_to_rounding(lengths, dtype, causal):
    projected = random(sum(lengths), 3, 2, 16, dtype=dtype)
    ours = attend_in_groups(*projected.unbind(1), length_groups(lengths), causal=causal)
    expected = one_row_by_length(projected.double(), lengths, causal=causal)
    assert_close([ours], [expected], dtype)


@pytest.mark.parametrize(
    ("dtype", "length", "examples", "fused"),
    [
        (torch.bfloat16, 33, 1, False),
        (torch.bfloat16, 32, 63, True),
        (torch.bfloat16, 32, 64, False),
        (torch.float32, 64, 63, True),
        (torch.float32, 64, 64, False),
        (torch.float32, 65, 64, True),
    ],
)
def test_attention_in_groups_is_fused_for_few_short_examples_or_long_ones_in_32_bits(
    dtype, length, examples, fused, monkeypatch
):
    calls = []
    attend = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda *args, **options: calls.append(1) or attend(*args, **options),
    )
    heads = random(length * examples, 3, 2, 4, dtype=dtype).unbind(1)
    attend_in_groups(*heads, [(length, examples)])
    assert bool(calls) == fused
    attend_in_groups(*heads, [(length, examples)], dropout=0.5)
    assert len(calls) == 1 + fused  # the products have no dropout
