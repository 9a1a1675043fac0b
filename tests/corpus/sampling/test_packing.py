import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.packing import Layout, pack

lengths_of = st.lists(st.integers(2, 40), min_size=1, max_size=60)


@given(lengths_of)
def test_every_example_is_in_one_row_and_no_row_is_too_long(lengths):
    rows = pack(lengths, capacity=40)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in row) <= 40 for row in rows)


@given(lengths_of)
def test_at_most_one_row_is_not_more_than_half_full(lengths):
    filled = [sum(lengths[i] for i in row) for row in pack(lengths, capacity=40)]
    assert sum(tokens <= 20 for tokens in filled) <= 1


def test_the_fullest_row_with_room_is_taken():
    assert pack([3, 5, 7, 4, 2], capacity=10) == [[2, 0], [1, 3], [4]]


def test_full_examples_stand_alone():
    assert pack([10, 10, 10], capacity=10) == [[0], [1], [2]]


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5))
def test_spread_examples_stand_one_behind_the_other(rows):
    layout = Layout.of(rows, capacity=40)
    lengths = [length for row in rows for length in row]
    values = np.arange(1, len(lengths) + 1)[:, None] * np.ones(max(lengths), np.int64)
    spread = layout.spread(values.astype(np.int64), padding=0)
    number = 0
    for line, row in zip(spread.tolist(), rows, strict=True):
        expected = []
        for length in row:
            number += 1
            expected += [number] * length
        assert line == expected + [0] * (len(line) - len(expected))
    assert np.all(np.diff(layout.starts) > 0)
    assert layout.is_packed == any(len(row) > 1 for row in rows)


@pytest.mark.parametrize(("longest", "capacity", "width"), [(9, 40, 16), (8, 40, 8), (9, 12, 12)])
def test_rows_are_as_wide_as_kernels_like_but_never_wider_than_allowed(longest, capacity, width):
    assert Layout.of([[longest], [3]], capacity=capacity).shape == (2, width)
