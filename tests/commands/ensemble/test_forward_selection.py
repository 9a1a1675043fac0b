"""Forward selection."""

from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.ensemble.ensemble import forward_selection

VALUES = st.lists(st.integers(-9, 9), min_size=1, max_size=6)


@given(VALUES)
def test_it_ends_no_worse_than_the_best_single(values):
    def score(some):
        return sum(values[index] for index in some) / len(some) ** 0.5

    chosen = forward_selection(len(values), score)
    assert chosen == sorted(set(chosen))
    assert score(chosen) >= max(values)


@given(VALUES)
def test_of_what_only_adds_up_it_takes_all_that_helps(values):
    chosen = forward_selection(len(values), lambda some: sum(values[index] for index in some))
    helpful = [index for index, value in enumerate(values) if value > 0]
    assert chosen == (helpful or [values.index(max(values))])


def test_of_equals_the_first_is_taken():
    assert forward_selection(3, lambda some: 1.0) == [0]
