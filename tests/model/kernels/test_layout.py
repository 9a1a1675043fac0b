from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from litebert.model import encoder
from litebert.model.kernels import layout as layout_module
from litebert.model.kernels.attention_kernels import attend_sdpa
from litebert.model.kernels.layout import (
    LAYOUTS,
    AttentionKernel,
    Layout,
    PaddedLayout,
    UnpaddedLayout,
    default_kernel,
    rounded_up,
)
from litebert.model.kernels.native.library import native_kernels, native_library
from litebert.model.presets import preset
from support.models.native_kernels import NEEDS_GCC

masks = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(lambda shape: arrays(bool, shape).map(torch.from_numpy))


@settings(deadline=None)
@given(masks)
def test_unpadded_layout_packs_the_real_tokens_the_longest_examples_first_and_then_zeros(mask):
    layout = UnpaddedLayout.of(mask)
    grid = 1 + torch.arange(mask.numel()).view(mask.shape)
    rows = sorted(range(len(mask)), key=lambda row: -mask[row].sum())  # equal lengths stay in their order
    tokens, positions = (
        torch.cat([values[row][mask[row]] for row in rows])
        for values in (grid, torch.arange(mask.shape[1]).expand_as(mask))
    )
    rest = torch.zeros(rounded_up(len(positions)) - len(positions), dtype=torch.int64)
    assert torch.equal(layout.pack(grid)[0], torch.cat([tokens, rest]))
    assert torch.equal(layout.positions[0], torch.cat([positions, rest]))
    assert sum(layout.lengths) == layout.boundaries[-1] == mask.sum()
    assert all(layout.lengths) or layout.lengths == (0,)
    assert list(layout.lengths) == sorted(layout.lengths, reverse=True)


@settings(deadline=None)
@given(masks, st.sampled_from(get_args(AttentionKernel)))
def test_layout_unpacks_every_real_token(mask, kernel):
    layout = LAYOUTS[kernel](mask)
    vectors = torch.randn(*mask.shape, 3, generator=torch.Generator().manual_seed(0))
    packed = torch.stack([layout.pack(column) for column in vectors.unbind(-1)], dim=-1)
    assert torch.equal(layout.unpack(packed)[mask], vectors[mask])


def test_unpadded_layout_unpacks_padding_to_zeros():
    layout = UnpaddedLayout.of(torch.tensor([[True, False], [False, False]]))
    assert layout.unpack(torch.ones(1, 1, 2)).sum() == 2


def test_rounded_numbers_of_tokens_are_few_and_close():
    rounded = [rounded_up(tokens) for tokens in range(4097)]
    assert all(tokens <= each <= tokens * 33 / 32 for tokens, each in enumerate(rounded))
    assert rounded == [rounded_up(each) for each in rounded]
    assert len(set(rounded[2049:])) == 32
    assert sum(each / max(1, tokens) - 1 for tokens, each in enumerate(rounded)) / len(rounded) < 0.015


def test_padded_layout_changes_nothing():
    mask = torch.ones(2, 3, dtype=torch.bool)
    layout = PaddedLayout.of(mask, kernel=attend_sdpa)
    assert layout.pack(mask) is mask
    assert layout.positions.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_layouts_exist_for_every_kernel(kernel):
    assert isinstance(LAYOUTS[kernel](torch.ones(1, 1, dtype=torch.bool)), Layout)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_layout_positions_count_from_the_start_of_each_example(kernel):
    mask = torch.tensor([[True] * 5 + [False], [True] * 6])
    layout = LAYOUTS[kernel](mask, torch.tensor([0, 2, 6, 9]))
    expected = torch.tensor([[0, 1, 0, 1, 2, 3], [0, 1, 2, 0, 1, 2]])
    assert torch.equal(layout.pack(expected), layout.positions)


def test_unpadded_layout_separates_packed_examples():
    layout = UnpaddedLayout.of(torch.tensor([[True] * 5 + [False], [True] * 6]), torch.tensor([0, 2, 6, 9]))
    assert layout.lengths == (3, 3, 3, 2)
    assert layout.boundaries.tolist() == [0, 3, 6, 9, 11]


def test_padded_layout_masks_other_examples_and_padding():
    mask = torch.tensor([[True, True, True, False]])
    layout = PaddedLayout.of(mask, torch.tensor([0, 1]), kernel=attend_sdpa)
    assert layout.attention_mask[0, :3, :3].tolist() == [[True, False, False], [False, True, True], [False, True, True]]
    assert not layout.attention_mask[..., 3].any()


@settings(deadline=None)
@given(masks)
def test_layout_with_row_starts_equals_the_default(mask):
    ours, plain = UnpaddedLayout.of(mask, torch.arange(len(mask)) * mask.shape[1]), UnpaddedLayout.of(mask)
    assert ours.lengths == plain.lengths
    assert torch.equal(ours.positions, plain.positions)


@pytest.mark.parametrize(
    ("device", "training", "row", "one_call", "kernel"),
    [
        ("cpu", True, 128 * 128, False, "unpadded"),
        ("cpu", True, 64 * 128, False, "sdpa"),
        ("cpu", True, 64 * 128, True, "unpadded"),
        ("cpu", False, 512 * 768, True, "sdpa"),
        ("cuda", True, 512 * 768, True, "sdpa"),
    ],
)
def test_default_kernel_is_unpadded_for_training_on_a_cpu_unless_rows_are_tiny(device, training, row, one_call, kernel):
    assert default_kernel(torch.device(device), training=training, row=row, one_call=one_call) == kernel


@pytest.mark.parametrize(
    ("dropout", "autocast", "native", "kernel"),
    [
        (0, True, False, "unpadded"),
        (0.1, True, False, "sdpa"),
        (0, False, False, "sdpa"),
        pytest.param(0, False, True, "unpadded", marks=NEEDS_GCC),
        (0.1, False, True, "sdpa"),
    ],
)
def test_encoder_skips_padding_of_tiny_rows_where_one_kernel_attends_in_all_examples(
    monkeypatch, dropout, autocast, native, kernel
):
    used = []
    recorded = {
        name: lambda *args, name=name, **kw: used.append(name) or LAYOUTS[name](*args, **kw) for name in LAYOUTS
    }
    monkeypatch.setattr(encoder, "LAYOUTS", recorded)
    model = encoder.Encoder(preset("tiny").replace(attention_probs_dropout_prob=dropout, num_hidden_layers=1)).train()
    ids, mask = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast), native_kernels(enabled=native):
        model(ids, mask, ids)
    assert used == [kernel]


@NEEDS_GCC
@pytest.mark.parametrize(
    ("dtype", "has_products", "kernel"),
    [
        (torch.float32, False, "native_attention"),
        (torch.bfloat16, True, "native_attention"),
        (torch.bfloat16, False, "attend_16_bits"),
    ],
    ids=str,
)
def test_bf16_is_attended_by_the_compiled_kernel_where_the_processor_multiplies_it(
    monkeypatch, dtype, has_products, kernel
):
    monkeypatch.setattr(native_library(), "has_bfloat16_products", has_products)
    used = []
    for name in ("native_attention", "attend_16_bits"):
        attend = getattr(layout_module, name)
        monkeypatch.setattr(
            layout_module, name, lambda *args, attend=attend, name=name, **kw: used.append(name) or attend(*args, **kw)
        )
    layout = UnpaddedLayout.of(torch.ones(2, 3, dtype=torch.bool))
    layout.attend(torch.ones(1, 6, 3, 2, 8, dtype=dtype), None, dropout=0.0)
    assert used == [kernel]
