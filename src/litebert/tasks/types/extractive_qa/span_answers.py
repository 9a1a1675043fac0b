"""Scores of spans → the answer to a question.

Source: `write_predictions_v1` and `write_predictions_v2` in squad_utils.py of google-research/albert.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from litebert.tasks.results import Result
from litebert.tasks.types.extractive_qa.questions import Question
from litebert.tasks.types.extractive_qa.span_scores import SpanScores

if TYPE_CHECKING:
    from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """A candidate answer."""

    text: str
    start: int
    """Its first character in the context."""
    end: int
    """The character after its last."""
    probability: float
    """Among the candidates of the question."""
    start_score: float
    end_score: float


NO_SPAN: Final = SpanAnswer("", 0, 0, probability=1.0, start_score=-1e6, end_score=-1e6)
"""The only candidate of a question without a possible span."""


@dataclass(frozen=True, slots=True)
class Answer(Result):
    """The answer to a question."""

    text: str
    """Empty where the context has no answer."""
    start: int
    """Its first character in the context."""
    end: int
    """The character after its last."""
    probability: float
    """Among `candidates`; 0 where there is no answer."""
    null_score: float | None
    """Score of "no answer"; None from a model that always answers."""
    n_best: tuple[SpanAnswer, ...]
    """At least one span, best first, whether or not the context has an answer; `NO_SPAN` if none is possible."""

    @property
    def no_answer_probability(self) -> float | None:
        """Sigmoid of the null score."""
        return None if self.null_score is None else float(np.exp(-np.logaddexp(0, -self.null_score)))

    @property
    def candidates(self) -> tuple[SpanAnswer, ...]:
        """The spans, best first."""
        return tuple(each for each in self.n_best if each.text)

    def to_record(self) -> dict[str, Any]:
        """Answer, position, probabilities and candidates."""
        return {
            "prediction": self.text,
            "start": self.start,
            "end": self.end,
            "probability": self.probability,
            "no_answer_probability": self.no_answer_probability,
            "candidates": [{"text": each.text, "probability": each.probability} for each in self.candidates],
        }

    @property
    def counts(self) -> dict[str, int]:
        """Questions without an answer."""
        return {"unanswered": int(not self.text)}


def decode_answer(scores: SpanScores, question: Question, labels: Sequence[str], settings: QuestionSettings) -> Answer:
    """The best span, or no answer where the null score is greater than the threshold."""
    candidates = n_best(scores, question.context, size=settings.n_best)
    best, null_score = candidates[0], scores.null_score
    threshold = settings.no_answer_threshold or 0.0
    if not best.text or (null_score is not None and null_score > threshold):
        return Answer("", 0, 0, 0.0, null_score, candidates)
    return Answer(best.text, best.start, best.end, best.probability, null_score, candidates)


def n_best(found: SpanScores, context: str, *, size: int) -> tuple[SpanAnswer, ...]:
    """The best spans of different texts, best first; `NO_SPAN` alone if there is none."""
    totals = found.scores.sum(axis=1)
    spans: dict[str, tuple[int, int, int]] = {}
    for index in np.argsort(-totals, kind="stable"):
        start, end = map(int, found.spans[index])
        text = context[start:end]
        if text and text not in spans:
            spans[text] = (int(index), start, end)
        if len(spans) == size:
            break
    if not spans:
        return (NO_SPAN,)
    weights = np.exp(totals[[index for index, _, _ in spans.values()]] - totals.max())
    probabilities = (weights / weights.sum()).tolist()
    return tuple(
        SpanAnswer(text, start, end, probability, *found.scores[index].tolist())
        for (text, (index, start, end)), probability in zip(spans.items(), probabilities, strict=True)
    )
