"""Scores of starts and ends → answers in the text. Before: a model over `squad_features`. After: metrics, predictions.

Source: `accumulate_predictions_v1`, `write_predictions_v1` and their v2 counterparts in the original's squad_utils.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from litebert.tasks.types.span_features import Document, EncodedQuestions, Window


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of a first and a last position in one window, as a model proposes them."""

    first: np.ndarray
    """Int64 [N]."""
    last: np.ndarray
    """Int64 [N]."""
    scores: np.ndarray
    """Float64 [N, 2]: of the first position as start, of the last one as end."""
    null_score: float | None
    """How sure the model is that the window holds no answer; None from a model that always answers."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """What one model, or an ensemble, gives the possible answers to one question."""

    pieces: np.ndarray
    """Int64 [N, 2]: half-open spans of the document's pieces, each once."""
    scores: np.ndarray
    """Float64 [N, 2]: as start, as end."""
    null_score: float | None
    """The smallest of all windows: one window with the answer is enough."""


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """One answer as a person reads it."""

    text: str
    start: int
    """Its first character in the context."""
    end: int
    """The character after its last."""
    probability: float
    """Among the answers listed with it."""
    start_score: float
    end_score: float


NO_SPAN = SpanAnswer("", 0, 0, probability=1.0, start_score=-1e6, end_score=-1e6)
"""Stands in the list of a question for which no span is left."""


def best_pairs(start_scores: np.ndarray, end_scores: np.ndarray, *, best: int) -> Candidates:
    """Every pair of the `best` starts and the `best` ends of a window; scores are float [S]."""
    starts = np.argsort(-start_scores, kind="stable")[:best]
    ends = np.argsort(-end_scores, kind="stable")[:best]
    first, last = np.repeat(starts, len(ends)), np.tile(ends, len(starts))
    scores = np.stack([start_scores[first], end_scores[last]], axis=1).astype(np.float64)
    return Candidates(first, last, scores, None)


def span_scores(windows: Sequence[Window], candidates: Sequence[Candidates], *, longest: int) -> SpanScores:
    """The candidates of all windows of a question that can be answers.

    An answer begins where its window has more context than any other, ends in the same window and has at most `longest`
    pieces.
    """
    kept = [_possible(*pair, longest) for pair in zip(windows, candidates, strict=True)]
    null_scores = [each.null_score for each in candidates if each.null_score is not None]
    return SpanScores(
        pieces=np.concatenate([pieces for pieces, _ in kept]),
        scores=np.concatenate([scores for _, scores in kept]),
        null_score=min(null_scores, default=None),
    )


def _possible(window: Window, candidates: Candidates, longest: int) -> tuple[np.ndarray, np.ndarray]:
    first, stop = candidates.first - window.first, candidates.last - window.first + 1
    keep = (
        (window.plan.max_context[0] <= first)
        & (first < window.plan.max_context[1])
        & (stop <= window.plan.pieces[1])
        & (first < stop)
        & (stop - first <= longest)
    )
    return np.stack([first[keep], stop[keep]], axis=1), candidates.scores[keep]


def n_best(found: SpanScores, document: Document, *, size: int) -> tuple[SpanAnswer, ...]:
    """The best answers of different texts, best first; `NO_SPAN` alone if there is none."""
    totals = found.scores.sum(axis=1)
    spans: dict[str, tuple[int, int, int]] = {}
    for index in np.argsort(-totals, kind="stable"):
        start, end = document.characters_of((int(found.pieces[index, 0]), int(found.pieces[index, 1])))
        text = document.context[start:end]
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


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """What is known of one question after the model has read all its windows."""

    best: tuple[SpanAnswer, ...]
    """At least one, best first."""
    null_score: float | None
    """None from a model that always answers."""

    def has_answer(self, threshold: float) -> bool:
        """Whether the best answer counts."""
        return bool(self.best[0].text) and (self.null_score is None or self.null_score <= threshold)

    def text(self, threshold: float) -> str:
        """The best answer, or "" where there is none."""
        return self.best[0].text if self.has_answer(threshold) else ""


def scores_of(encoded: EncodedQuestions, candidates: Iterable[Candidates]) -> list[SpanScores]:
    """For each question what the model gives its possible answers; `candidates` are those of each window, in order.

    Those of several models are averaged by `squad_ensemble`.
    """
    grouped: list[tuple[list[Window], list[Candidates]]] = [([], []) for _ in encoded.questions]
    for window, proposed in zip(encoded.windows, candidates, strict=True):
        grouped[window.question][0].append(window)
        grouped[window.question][1].append(proposed)
    return [span_scores(*group, longest=encoded.settings.max_answer_length) for group in grouped]


def answers_of(encoded: EncodedQuestions, scores: Sequence[SpanScores]) -> list[QuestionAnswers]:
    """For each question its answers by these scores."""
    return [
        QuestionAnswers(n_best(found, document, size=encoded.settings.n_best), found.null_score)
        for found, document in zip(scores, encoded.documents, strict=True)
    ]
