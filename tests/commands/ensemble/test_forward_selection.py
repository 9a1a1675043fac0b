"""Forward selection."""

from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.ensemble.ensemble import forward_selection

VALUES = st.lists(st.integers(-9, 9), min_size=1, max_size=6)


@given(VALUES)
def test_forward_selection_is_no_worse_than_the_best_member(values):
    def score(some):
        return sum(values[index] for index in some) / len(some) ** 0.5

    chosen = forward_selection(len(values), score)
    assert chosen == sorted(set(chosen))
    assert score(chosen) >= max(values)


@given(VALUES)
def test_forward_selection_takes_all_members_that_help(values):
    chosen = forward_selection(len(values), lambda some: sum(values[index] for index in some))
    helpful = [index for index, value in enumerate(values) if value > 0]
    assert chosen == (helpful or [values.index(max(values))])


def test_forward_selection_takes_the_first_of_equals():
    assert forward_selection(3, lambda some: 1.0) == [0]
