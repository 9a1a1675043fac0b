"""Window plans over long documents, and the max-context rule against its definition."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.types.extractive_qa.windows import plan_windows

SIZES = st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 25))


@given(SIZES)
def test_plan_windows_covers_the_document_within_the_budget(sizes):
    length, budget, stride = sizes
    spans = [plan.tokens for plan in plan_windows(length, budget=budget, stride=stride)]
    assert spans[0][0] == 0
    assert spans[-1][1] == length
    assert all(stop - start <= budget for start, stop in spans)
    for (start, stop), (following, further) in pairwise(spans):
        assert following - start == min(budget, stride)
        assert following <= stop < further, "no gap, and every window adds something"


@given(SIZES)
def test_max_context_window_of_a_token_has_the_most_context(sizes):
    length, budget, stride = sizes
    plans = plan_windows(length, budget=budget, stride=stride)
    for piece in range(length):
        scores = {}
        for index, plan in enumerate(plans):
            start, stop = plan.tokens
            if start <= piece < stop:
                scores[index] = min(piece - start, stop - 1 - piece) + 0.01 * (stop - start)
        best = next(index for index in scores if scores[index] == max(scores.values()))
        chosen = [index for index, plan in enumerate(plans) if plan.max_context[0] <= piece < plan.max_context[1]]
        assert chosen == [best]


def test_plan_windows_of_an_empty_document_is_one_window():
    assert [plan.tokens for plan in plan_windows(0, budget=5, stride=2)] == [(0, 0)]
