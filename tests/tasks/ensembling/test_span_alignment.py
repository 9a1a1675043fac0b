"""Scores over characters: the same spans, whatever the pieces."""

import numpy as np

from litebert.tasks.ensembling.span_alignment import answers_from, over_characters
from litebert.tasks.ensembling.span_averaging import average_scores
from litebert.tasks.types.questions import Question
from litebert.tasks.types.span_answers import SpanScores, n_best
from litebert.tasks.types.span_features import Document

CONTEXT = "The film was good ."


def document(*spans):
    edges = np.array(spans, np.int32)
    return Document(CONTEXT, np.zeros(len(spans), np.int32), edges[:, 0], edges[:, 1])


WORDS = document((0, 3), (3, 8), (8, 12), (12, 17), (17, 18), (18, 19))
"""Each word with the space before it; the last space alone."""
LETTERS = document((0, 3), (3, 4), (4, 6), (6, 8), (8, 12), (12, 17), (17, 19))
"""Other pieces of the same text."""


def scores(spans, null_score=None):
    pieces = np.array(list(spans), np.int64).reshape(-1, 2)
    return SpanScores(pieces, np.array(list(spans.values()), np.float64).reshape(-1, 2), null_score)


def test_two_tokenizers_agree_on_a_span():
    first = over_characters(scores({(1, 2): (1.0, 2.0)}), WORDS)
    second = over_characters(scores({(2, 4): (3.0, 4.0)}), LETTERS)
    (found,) = average_scores([[first], [second]])
    assert found.pieces.tolist() == [[4, 8]]
    assert found.scores.tolist() == [[2.0, 3.0]]


def test_of_spans_that_differ_in_white_space_alone_the_better_one_counts():
    found = over_characters(scores({(0, 4): (1.0, 1.0), (0, 5): (2.0, 1.5), (1, 2): (0.0, 0.0)}), WORDS)
    assert sorted(zip(found.pieces.tolist(), found.scores.tolist(), strict=True)) == [
        ([0, 17], [2.0, 1.5]),
        ([4, 8], [0.0, 0.0]),
    ]


def test_answers_over_characters_are_those_over_pieces():
    given = scores({(0, 2): (1.0, 2.0), (3, 4): (2.5, 2.0), (1, 2): (0.0, 0.5), (4, 5): (9.0, 9.0)}, null_score=0.25)
    (found,) = answers_from([over_characters(given, WORDS)], [Question("q", "?", CONTEXT, ())], size=5)
    assert found.best == n_best(given, WORDS, size=5)
    assert found.null_score == 0.25


def test_a_question_without_spans_has_no_answer():
    (found,) = answers_from([over_characters(scores({}, 1.0), WORDS)], [Question("q", "?", CONTEXT, ())], size=5)
    assert found.best[0].text == ""
