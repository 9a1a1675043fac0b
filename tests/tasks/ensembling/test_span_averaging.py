"""Averages over members, as the paper has them."""

import numpy as np
import pytest

from litebert.errors import ConfigError
from litebert.tasks.ensembling.span_averaging import average_scores
from litebert.tasks.types.span_answers import SpanScores


def scores(spans, null_score=None):
    return SpanScores(np.array(list(spans)).reshape(-1, 2), np.array(list(spans.values())).reshape(-1, 2), null_score)


def test_a_span_is_averaged_over_the_members_that_propose_it():
    first = scores({(0, 2): (1.0, 2.0), (3, 4): (5.0, 5.0)}, null_score=1.0)
    second = scores({(0, 2): (3.0, 6.0), (7, 9): (0.5, 0.25)}, null_score=-2.0)
    (found,) = average_scores([[first], [second]])
    assert dict(zip(map(tuple, found.pieces.tolist()), found.scores.tolist(), strict=True)) == {
        (0, 2): [2.0, 4.0],
        (3, 4): [5.0, 5.0],
        (7, 9): [0.5, 0.25],
    }
    assert found.null_score == -0.5


def test_one_member_and_equal_members_are_left_as_they_are():
    member = scores({(0, 2): (1.0, 2.0), (1, 2): (5.0, 5.0)})
    for members in ([[member]], [[member], [member], [member]]):
        (found,) = average_scores(members)
        assert found.pieces.tolist() == member.pieces.tolist()
        assert found.scores.tolist() == member.scores.tolist()
        assert found.null_score is None


def test_a_question_without_a_span_stays_without():
    (found,) = average_scores([[scores({}, 1.0)], [scores({}, 2.0)]])
    assert found.pieces.shape == (0, 2)
    assert found.null_score == 1.5


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "found no member"),
        ([[scores({})], []], "found 1, 0"),
        ([[scores({}, 1.0)], [scores({})]], "some members can say that there is no answer and some cannot"),
    ],
)
def test_members_that_do_not_fit_are_refused(members, message):
    with pytest.raises(ConfigError, match=message):
        average_scores(members)
