"""Tables over some of the examples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.evaluation import parts, parts_by_length


def count(rows):
    return {"rows": float(len(rows))}


@given(st.lists(st.integers(1, 2000), max_size=40))
def test_every_example_is_in_one_range_of_lengths(lengths):
    table = parts_by_length(np.array(lengths, int), count)
    assert sum(part.examples for part in table) == len(lengths)
    assert all(part.examples == part.metrics["rows"] > 0 for part in table)


def test_ranges_say_their_limits():
    names = [part.name for part in parts_by_length(np.array([16, 17, 32, 700]), count)]
    assert names == ["1 to 16 tokens", "17 to 32 tokens", "513 to 700 tokens"]


def test_examples_without_a_slice_are_in_none():
    assert [(part.name, part.examples) for part in parts(["b", None, "a", "b"], count)] == [("a", 1), ("b", 2)]
    assert parts([None, None], count) == ()
