"""Scores of spans of characters, and their averages over the members of an ensemble."""

import numpy as np
import pytest

from litebert.errors import ConfigError
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.span_scores import (
    Candidates,
    SpanScores,
    average_span_scores,
    span_scores,
)
from litebert.tasks.types.extractive_qa.windows import Document, QuestionOutputs, Window, WindowPlan

CONTEXT = "The film was good ."


def document(*spans):
    edges = np.array(spans, np.int32)
    return Document(CONTEXT, np.zeros(len(spans), np.int32), edges[:, 0], edges[:, 1])


WORDS = document((0, 3), (3, 8), (8, 12), (12, 17), (17, 18), (18, 19))
"""Each word with the space before it; the last space alone."""
SUBWORDS = document((0, 3), (3, 4), (4, 6), (6, 8), (8, 12), (12, 17), (17, 19))
"""Other tokens of the same text."""


def character_scores(tokens_and_scores, of):
    """The scores of half-open spans of tokens, as spans of characters."""
    plan = WindowPlan((0, len(of.ids)), (0, len(of.ids)))
    window = Window(0, None, plan, 0)
    first, last = np.array([(start, stop - 1) for start, stop in tokens_and_scores]).reshape(-1, 2).T
    scores = np.array(list(tokens_and_scores.values()), np.float64).reshape(-1, 2)
    question = QuestionOutputs(of, [window], [None])
    return span_scores(question, [Candidates(first, last, scores)], null_score=None, settings=QuestionSettings())


def scores(spans, null_score=None):
    return SpanScores(np.array(list(spans)).reshape(-1, 2), np.array(list(spans.values())).reshape(-1, 2), null_score)


def as_dict(found):
    return dict(zip(map(tuple, found.spans.tolist()), found.scores.tolist(), strict=True))


def test_span_scores_of_two_tokenizers_are_over_the_same_characters():
    first = character_scores({(1, 2): (1.0, 2.0)}, WORDS)
    second = character_scores({(2, 4): (3.0, 4.0)}, SUBWORDS)
    assert as_dict(average_span_scores([first, second])) == {(4, 8): [2.0, 3.0]}


def test_span_scores_keep_the_better_of_two_equal_spans():
    found = character_scores({(3, 4): (1.0, 1.0), (3, 5): (2.0, 2.0)}, WORDS)
    assert as_dict(found) == {(13, 17): [2.0, 2.0]}


def test_average_span_scores_are_over_the_members_that_propose_a_span():
    first = scores({(0, 2): (1.0, 2.0), (3, 4): (5.0, 5.0)}, null_score=1.0)
    second = scores({(0, 2): (3.0, 6.0), (7, 9): (0.5, 0.25)}, null_score=-2.0)
    found = average_span_scores([first, second])
    assert as_dict(found) == {(0, 2): [2.0, 4.0], (3, 4): [5.0, 5.0], (7, 9): [0.5, 0.25]}
    assert found.null_score == -0.5


def test_average_span_scores_of_equal_members_are_theirs():
    member = scores({(0, 2): (1.0, 2.0), (1, 2): (5.0, 5.0)})
    for members in ([member], [member] * 3):
        found = average_span_scores(members)
        assert as_dict(found) == as_dict(member)
        assert found.null_score is None


def test_average_span_scores_without_a_span_are_empty():
    found = average_span_scores([scores({}, 1.0), scores({}, 2.0)])
    assert found.spans.shape == (0, 2)
    assert found.null_score == 1.5


def test_average_span_scores_reject_members_with_and_without_null_scores():
    with pytest.raises(ConfigError, match='some members can predict "no answer" and some cannot'):
        average_span_scores([scores({}, 1.0), scores({})])
