"""Scores of spans of pieces → of characters, so that models with different tokenizers can agree on a span.

Before: `squad_answers.scores_of`. After: `squad_ensemble`, then `answers_from`.
Source: the keys by which `accumulate_predictions_v2` of the original's squad_utils.py averages are characters, too.
"""

from collections.abc import Sequence

import numpy as np

from litebert.tasks.types.questions import Question
from litebert.tasks.types.span_answers import QuestionAnswers, SpanScores, n_best
from litebert.tasks.types.span_features import Document


def over_characters(found: SpanScores, document: Document) -> SpanScores:
    """The same scores by half-open spans of characters, white space at both ends left out; the better of two equal."""
    starts, ends = document.starts[found.pieces[:, 0]], document.ends[found.pieces[:, 1] - 1]
    spans = np.stack(_trimmed(document.context, starts, ends), axis=1)
    order = np.argsort(-found.scores.sum(axis=1), kind="stable")
    _, first = np.unique(spans[order], axis=0, return_index=True)
    kept = order[np.sort(first)]
    return SpanScores(spans[kept], found.scores[kept], found.null_score)


def answers_from(scores: Sequence[SpanScores], questions: Sequence[Question], *, size: int) -> list[QuestionAnswers]:
    """For each question its `size` best answers by scores over characters."""
    return [
        QuestionAnswers(n_best(found, _as_characters(question.context), size=size), found.null_score)
        for found, question in zip(scores, questions, strict=True)
    ]


def _as_characters(context: str) -> Document:
    """A document whose pieces are its characters."""
    edges = np.arange(len(context) + 1, dtype=np.int32)
    return Document(context, np.zeros(len(context), np.int32), edges[:-1], edges[1:])


def _trimmed(context: str, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spans without white space at their ends; empty ones stay empty."""
    is_text = np.array([not sign.isspace() for sign in context])
    places = np.arange(len(context))
    next_text = np.minimum.accumulate(np.where(is_text, places, len(context))[::-1])[::-1]
    text_before = np.maximum.accumulate(np.where(is_text, places + 1, 0))
    # A span of pieces may be empty only where the tokenizer dropped every character of them.
    first = np.append(next_text, len(context))[starts]
    return first.astype(np.int64), np.maximum(first, np.append(0, text_before)[ends]).astype(np.int64)
