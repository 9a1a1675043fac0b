"""Windows over long documents: laws of the cut, and the rule of most context against its definition."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.types.doc_stride import plan_windows

SIZES = st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 25))


@given(SIZES)
def test_windows_cover_everything_and_none_is_too_long(sizes):
    length, room, stride = sizes
    spans = [plan.pieces for plan in plan_windows(length, room=room, stride=stride)]
    assert spans[0][0] == 0
    assert spans[-1][1] == length
    assert all(stop - start <= room for start, stop in spans)
    for (start, stop), (following, further) in pairwise(spans):
        assert following - start == min(room, stride)
        assert following <= stop < further, "no gap, and every window adds something"


@given(SIZES)
def test_each_piece_is_seen_best_where_it_has_most_context(sizes):
    length, room, stride = sizes
    plans = plan_windows(length, room=room, stride=stride)
    for piece in range(length):
        scores = {}
        for index, plan in enumerate(plans):
            start, stop = plan.pieces
            if start <= piece < stop:
                scores[index] = min(piece - start, stop - 1 - piece) + 0.01 * (stop - start)
        best = next(index for index in scores if scores[index] == max(scores.values()))
        chosen = [index for index, plan in enumerate(plans) if plan.max_context[0] <= piece < plan.max_context[1]]
        assert chosen == [best]


def test_an_empty_document_has_a_window_too():
    assert [plan.pieces for plan in plan_windows(0, room=5, stride=2)] == [(0, 0)]
