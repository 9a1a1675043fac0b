import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.pretrain_batches import RowLayout, pack_examples, with_regular_count

lengths_of = st.lists(st.integers(2, 40), min_size=1, max_size=60)


@given(lengths_of)
def test_packing_puts_every_example_into_one_row_of_at_most_capacity(lengths):
    rows = pack_examples(lengths, capacity=40)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in row) <= 40 for row in rows)


@given(lengths_of)
def test_packing_leaves_at_most_one_row_half_empty(lengths):
    filled = [sum(lengths[i] for i in row) for row in pack_examples(lengths, capacity=40)]
    assert sum(tokens <= 20 for tokens in filled) <= 1


def test_packing_uses_the_fullest_row_with_enough_space():
    assert pack_examples([3, 5, 7, 4, 2], capacity=10) == [[2, 0], [1, 3], [4]]


def test_packing_gives_full_examples_a_row_each():
    assert pack_examples([10, 10, 10], capacity=10) == [[0], [1], [2]]


@given(st.lists(st.integers(2, 40), min_size=1, max_size=300), st.integers(1, 300))
def test_regular_count_divides_few_rows_and_makes_no_microbatch_more(lengths, microbatch_size):
    rows = pack_examples(lengths, capacity=40)
    regular = with_regular_count(rows, microbatch_size=microbatch_size)
    assert sorted(index for row in regular for index in row) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in row) <= 40 for row in regular)
    assert len(rows) <= len(regular) <= len(rows) * (1 + 1 / 32)
    assert -(-len(regular) // microbatch_size) == -(-len(rows) // microbatch_size)


def test_regular_count_is_one_of_few():
    rows = [[2 * index, 2 * index + 1] for index in range(1024)]
    counts = {len(with_regular_count(rows[:number], microbatch_size=256)) for number in range(900, 960)}
    assert counts == {912, 928, 944, 960}
    assert len(with_regular_count(rows[:1010], microbatch_size=100)) == 1024
    assert len(with_regular_count(rows[:1010], microbatch_size=101)) == 1010


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5))
def test_row_layout_places_examples_one_after_the_other(rows):
    layout = RowLayout.of(rows, capacity=40)
    lengths = [length for row in rows for length in row]
    values = np.arange(1, len(lengths) + 1)[:, None] * np.ones(max(lengths), np.int64)
    placed = layout.to_rows(values.astype(np.int64), padding=0)
    number = 0
    for line, row in zip(placed.tolist(), rows, strict=True):
        expected = []
        for length in row:
            number += 1
            expected += [number] * length
        assert line == expected + [0] * (len(line) - len(expected))
    assert np.all(np.diff(layout.sequence_starts) > 0)
    assert layout.is_packed == any(len(row) > 1 for row in rows)


@pytest.mark.parametrize(("longest", "capacity", "width"), [(9, 40, 16), (8, 40, 8), (9, 12, 12)])
def test_row_layout_pads_rows_to_a_multiple_of_eight_up_to_capacity(longest, capacity, width):
    assert RowLayout.of([[longest], [3]], capacity=capacity).shape == (2, width)
