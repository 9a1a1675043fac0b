from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from litebert.model.kernels.attention_kernels import attend_sdpa
from litebert.model.kernels.layout import LAYOUTS, AttentionKernel, PaddedLayout, UnpaddedLayout, default_kernel

masks = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(lambda shape: arrays(bool, shape).map(torch.from_numpy))


@settings(deadline=None)
@given(masks)
def test_packing_keeps_the_real_tokens_in_order_with_their_positions(mask):
    layout = UnpaddedLayout.of(mask)
    grid = torch.arange(mask.numel()).view(mask.shape)
    assert torch.equal(layout.pack(grid)[0], grid[mask])
    assert torch.equal(layout.positions[0], torch.arange(mask.shape[1]).expand_as(mask)[mask])
    assert sum(layout.lengths) == layout.boundaries[-1] == mask.sum()
    assert all(layout.lengths) or layout.lengths == (0,)


@settings(deadline=None)
@given(masks, st.sampled_from(get_args(AttentionKernel)))
def test_unpacking_puts_every_real_token_back(mask, kernel):
    layout = LAYOUTS[kernel](mask)
    vectors = torch.randn(*mask.shape, 3, generator=torch.Generator().manual_seed(0))
    packed = torch.stack([layout.pack(column) for column in vectors.unbind(-1)], dim=-1)
    assert torch.equal(layout.unpack(packed)[mask], vectors[mask])


def test_padding_unpacks_to_zeros():
    layout = UnpaddedLayout.of(torch.tensor([[True, False], [False, False]]))
    assert layout.unpack(torch.ones(1, 1, 2)).sum() == 2


def test_the_grid_is_left_as_it_is():
    mask = torch.ones(2, 3, dtype=torch.bool)
    layout = PaddedLayout.of(mask, kernel=attend_sdpa)
    assert layout.pack(mask) is mask
    assert layout.positions.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_every_kernel_has_a_layout(kernel):
    assert isinstance(LAYOUTS[kernel](torch.ones(1, 1, dtype=torch.bool)), PaddedLayout | UnpaddedLayout)


@pytest.mark.parametrize("kernel", get_args(AttentionKernel))
def test_positions_count_from_the_start_of_each_example(kernel):
    mask = torch.tensor([[True] * 5 + [False], [True] * 6])
    layout = LAYOUTS[kernel](mask, torch.tensor([0, 2, 6, 9]))
    expected = torch.tensor([[0, 1, 0, 1, 2, 3], [0, 1, 2, 0, 1, 2]])
    assert torch.equal(layout.pack(expected), layout.positions)


def test_packed_examples_are_cut_where_they_start():
    layout = UnpaddedLayout.of(torch.tensor([[True] * 5 + [False], [True] * 6]), torch.tensor([0, 2, 6, 9]))
    assert layout.lengths == (2, 3, 3, 3)
    assert layout.boundaries.tolist() == [0, 2, 5, 8, 11]


def test_on_the_grid_each_token_sees_the_real_tokens_of_its_example():
    mask = torch.tensor([[True, True, True, False]])
    layout = PaddedLayout.of(mask, torch.tensor([0, 1]), kernel=attend_sdpa)
    assert layout.attention_mask[0, :3, :3].tolist() == [[True, False, False], [False, True, True], [False, True, True]]
    assert not layout.attention_mask[..., 3].any()


@settings(deadline=None)
@given(masks)
def test_to_say_where_each_row_starts_changes_nothing(mask):
    ours, plain = UnpaddedLayout.of(mask, torch.arange(len(mask)) * mask.shape[1]), UnpaddedLayout.of(mask)
    assert ours.lengths == plain.lengths
    assert torch.equal(ours.positions, plain.positions)


@pytest.mark.parametrize(
    ("device", "training", "row", "kernel"),
    [
        ("cpu", True, 128 * 128, "unpadded"),
        ("cpu", True, 64 * 128, "sdpa"),
        ("cpu", False, 512 * 768, "sdpa"),
        ("cuda", True, 512 * 768, "sdpa"),
    ],
)
def test_training_on_a_cpu_leaves_padding_out_unless_rows_are_tiny(device, training, row, kernel):
    assert default_kernel(torch.device(device), training=training, row=row) == kernel
