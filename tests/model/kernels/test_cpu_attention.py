"""16-bit attention on a CPU equals that of torch: exactly in 64 bits, up to rounding in 16 bits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.model.kernels import cpu_attention
from litebert.model.kernels.attention_kernels import attend_by_length
from litebert.model.kernels.cpu_attention import attend_16_bits
from litebert.model.kernels.length_groups import attend_in_groups, length_groups
from support.models.kernel_gradients import assert_close, random, with_gradients


def in_groups(query, key, value, lengths):
    return attend_in_groups(query, key, value, length_groups(lengths))


def one_row_by_length(query, key, value, lengths):
    return attend_by_length(query[None], key[None], value[None], lengths, 0.0)[0]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sampled_from([1, 100, 2**20]),
    st.sampled_from([15, 16]),
    st.booleans(),
)
def test_cpu_attention_equals_torch_in_outputs_and_gradients(lengths, scores_at_once, stored_width, causal):
    heads = [random(sum(lengths), 2, 8, dtype=torch.float64, seed=seed) for seed in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_attention, "SCORES_PER_CHUNK", scores_at_once)
        patch.setattr(cpu_attention, "STORED_WIDTH", stored_width)
        cpu_attention.chunks_by_length.cache_clear()
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


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("attend", [attend_16_bits, one_row_by_length, in_groups])
def test_attention_gives_zeros_in_the_rows_after_the_examples_whatever_these_hold(attend, dtype):
    lengths = [3, 5, 3]
    heads = [random(sum(lengths) + 4, 2, 8, dtype=dtype, seed=seed) for seed in range(3)]
    for tensor in heads:
        tensor[sum(lengths) :] = torch.nan
    contexts, *gradients = with_gradients(lambda *qkv: attend(*qkv, lengths)[: sum(lengths)], *heads)
    expected = with_gradients(lambda *qkv: attend(*qkv, lengths), *(tensor[: sum(lengths)] for tensor in heads))
    assert_close([contexts, *(each[: sum(lengths)] for each in gradients)], expected, dtype)
    assert attend(*heads, lengths)[sum(lengths) :].abs().max() == 0
    assert all(each[sum(lengths) :].abs().max() == 0 for each in gradients)


@pytest.mark.parametrize(("heads", "stored"), [(16, 1), (17, 0)])
def test_cpu_attention_stores_probabilities_of_narrow_models_only(heads, stored):
    inputs = [random(32, heads, 16, dtype=torch.bfloat16, seed=seed).requires_grad_() for seed in range(3)]
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
        attend_16_bits(*inputs, [32])
    assert [tensor.shape for tensor in saved[3:]] == [(heads, 32, 32)] * stored


def test_cpu_attention_ignores_autocast():
    heads = [random(5, 2, 8, dtype=torch.bfloat16, seed=seed) for seed in range(3)]
    with torch.autocast("cpu", torch.bfloat16):
        inside = attend_16_bits(*heads, [5])
    assert torch.equal(inside, attend_16_bits(*heads, [5]))


def test_cpu_attention_of_no_tokens_is_empty():
    assert attend_16_bits(*[torch.zeros(0, 2, 8, dtype=torch.bfloat16)] * 3, [0]).shape == (0, 2, 8)


@given(st.lists(st.integers(1, 70), min_size=1, max_size=9), st.booleans())
def test_cpu_attention_reads_and_writes_each_token_once(lengths, causal):
    chunks = cpu_attention.chunks_by_length(tuple(lengths), heads=1, causal=causal, dtype=torch.float32)
    written = torch.cat([chunk.targets for chunk in chunks])
    assert written[written < sum(lengths)].sort().values.tolist() == list(range(sum(lengths)))
    for chunk in chunks:
        inside = chunk.targets < sum(lengths)
        assert torch.equal(chunk.sources[inside], chunk.targets[inside])
        assert torch.equal((~inside).nonzero()[:, 0], chunk.padding)
