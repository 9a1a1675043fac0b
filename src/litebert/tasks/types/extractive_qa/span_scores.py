"""The model's outputs for all windows of a question → scores of the spans of its context → the answer.

Spans are of characters, so that models with different tokenizers can be averaged. Importing it loads no torch.
Sources: `accumulate_predictions_v1`, `accumulate_predictions_v2`, `write_predictions_v1` and `write_predictions_v2` in
squad_utils.py of google-research/albert.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.questions import Question
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.types.extractive_qa.windows import QuestionOutputs, Window

if TYPE_CHECKING:
    from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings


BEAM_SIZE: Final = 5
"""Start positions, and end positions for each, in a beam search. Source: start_n_top and end_n_top."""


class SpanLogits(NamedTuple):
    """Scores of every position of one window."""

    starts: np.ndarray
    """Float32 [S]."""
    ends: np.ndarray
    """Float32 [S]."""


class Candidates(NamedTuple):
    """Pairs of a first and a last position in one window, and the score that the window has no answer."""

    first: np.ndarray
    """Int64 [N]."""
    last: np.ndarray
    """Int64 [N]."""
    scores: np.ndarray
    """Float64 [N, 2]: of the first position as start, of the last one as end; log-probabilities from a beam search."""
    null_score: float | None = None


def logits_by_window(starts: np.ndarray, ends: np.ndarray, lengths: Sequence[int]) -> list[SpanLogits]:
    """The logits [B, S] of each window without padding."""
    windows = zip(starts, ends, lengths, strict=True)
    return [SpanLogits(own_starts[:length], own_ends[:length]) for own_starts, own_ends, length in windows]


def beams_by_window(
    start_log_probs: np.ndarray,
    start_positions: np.ndarray,
    end_log_probs: np.ndarray,
    end_positions: np.ndarray,
    impossible_logits: np.ndarray,
) -> list[Candidates]:
    """The pairs of each start [B, K] with its ends [B, K, K2], from a beam search."""
    rows = len(end_positions)
    first = np.broadcast_to(start_positions[..., None], end_positions.shape).reshape(rows, -1)
    start_scores = np.broadcast_to(start_log_probs[..., None], end_log_probs.shape)
    scores = np.stack([start_scores, end_log_probs], axis=-1).reshape(rows, -1, 2).astype(np.float64)
    columns = (first, end_positions.reshape(rows, -1), scores, impossible_logits.tolist())
    return [Candidates(*window) for window in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class SpanScores:
    """What one model or an ensemble gives the possible answers to one question."""

    spans: np.ndarray
    """Int64 [N, 2]: different half-open spans of characters of the context."""
    scores: np.ndarray
    """Float64 [N, 2]: as start, as end."""
    null_score: float | None
    """Score of "no answer"; None from a model without."""


def scores_from_logits(question: QuestionOutputs, settings: QuestionSettings, dtype: type[np.floating]) -> SpanScores:
    """The scores that a model without "no answer" gives the spans of one question."""
    candidates = [best_pairs(output, n_best=settings.n_best) for output in question.outputs]
    return span_scores(question, candidates, null_score=None, settings=settings)


def scores_from_beams(question: QuestionOutputs, settings: QuestionSettings, dtype: type[np.floating]) -> SpanScores:
    """The scores that a model with "no answer" gives; the null score is the smallest of all windows."""
    null_score = min(each.null_score for each in question.outputs)
    return span_scores(question, question.outputs, null_score=null_score, settings=settings)


def best_pairs(window: SpanLogits, *, n_best: int) -> Candidates:
    """Every pair of the `n_best` starts and the `n_best` ends of a window."""
    starts = np.argsort(-window.starts, kind="stable")[:n_best]
    ends = np.argsort(-window.ends, kind="stable")[:n_best]
    first, last = np.repeat(starts, len(ends)), np.tile(ends, len(starts))
    scores = np.stack([window.starts[first], window.ends[last]], axis=1).astype(np.float64)
    return Candidates(first, last, scores)


def span_scores(
    question: QuestionOutputs, candidates: Sequence[Candidates], *, null_score: float | None, settings: QuestionSettings
) -> SpanScores:
    """The candidates of all windows of a question that can be answers, best first."""
    pairs = zip(question.windows, candidates, strict=True)
    possible = [_possible(*pair, settings.max_answer_length) for pair in pairs]
    tokens = np.concatenate([spans for spans, _ in possible])
    scores = np.concatenate([scores for _, scores in possible])
    spans = question.document.characters_of(tokens)
    order = np.argsort(-scores.sum(axis=1), kind="stable")
    _, first = np.unique(spans[order], axis=0, return_index=True)
    chosen = order[np.sort(first)]
    return SpanScores(spans[chosen], scores[chosen], null_score)


def _possible(window: Window, candidates: Candidates, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Half-open spans of the document's tokens, with their scores.

    An answer starts where its window has more context than any other, ends in the same window and has at most
    `longest` tokens.
    """
    first, stop = candidates.first - window.offset, candidates.last - window.offset + 1
    keep = (
        (window.plan.max_context[0] <= first)
        & (first < window.plan.max_context[1])
        & (stop <= window.plan.tokens[1])
        & (first < stop)
        & (stop - first <= longest)
    )
    return np.stack([first[keep], stop[keep]], axis=1), candidates.scores[keep]


def average_span_scores(members: Sequence[SpanScores]) -> SpanScores:
    """The mean over the members of an ensemble, for one question.

    "For SQuAD, we average the prediction scores for those spans that have multiple probabilities; we also average the
    scores of the unanswerable decision." Source: ALBERT, section 4.9, and `write_predictions_v2` in squad_utils.py: the
    mean of a span is over the models that proposed it.
    """
    null_scores = [member.null_score for member in members if member.null_score is not None]
    if null_scores and len(null_scores) < len(members):
        raise ConfigError('ensemble: some members can predict "no answer" and some cannot; use one task type')
    spans, index = np.unique(np.concatenate([member.spans for member in members]), axis=0, return_inverse=True)
    totals = np.zeros((len(spans), 2))
    np.add.at(totals, index.reshape(-1), np.concatenate([member.scores for member in members]))
    proposed = np.bincount(index.reshape(-1), minlength=len(spans))
    null_score = sum(null_scores) / len(null_scores) if null_scores else None
    return SpanScores(spans, totals / proposed[:, None], null_score)


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
class Answer(DecodedPrediction):
    """The answer to a question."""

    columns = ("prediction", "start", "end", "probability", "no_answer_probability", "candidates")
    nested_columns = ("candidates",)
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
