"""When to say that there is no answer. Before: `squad_metrics`, null scores. After: runs; the model directory keeps it.

A question counts as unanswerable when its null score is greater than the threshold. Source: the evaluation script of
SQuAD 2.0; the original's own code writes "greater or equal", which refuses the very question the threshold was read
from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from litebert.tasks.metrics.squad_metrics import QuestionScores, score_with_unanswerable
from litebert.tasks.types.questions import Question


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold that scores best, and what it scores in percent."""

    score: float
    threshold: float
    """As the official script gives it: the null score of the last question that is answered."""
    kept: float
    """Halfway to the next null score. It scores the same, and no rounding moves a question across it."""


@dataclass(frozen=True, slots=True)
class BestThresholds:
    """One for each of the two figures."""

    exact: BestThreshold
    f1: BestThreshold

    def to_dict(self) -> dict[str, float]:
        """Under the names of the official script."""
        return {
            "best_exact": self.exact.score,
            "best_exact_thresh": self.exact.threshold,
            "best_f1": self.f1.score,
            "best_f1_thresh": self.f1.threshold,
        }


def best_thresholds(
    questions: Sequence[Question], predictions: Mapping[str, str], null_scores: Mapping[str, float]
) -> BestThresholds:
    """Chosen on `questions`; `predictions` hold the best answer of every question, whatever its null score.

    Null scores are any numbers that grow with the doubt: the model's logits, or probabilities in [0, 1].
    """
    scores = score_with_unanswerable(questions, predictions)
    answerable = {question.id: bool(question.answers) for question in questions}
    return BestThresholds(
        exact=_best(scores.exact, predictions, null_scores, answerable),
        f1=_best(scores.f1, predictions, null_scores, answerable),
    )


def _best(
    scores: Mapping[str, float],
    predictions: Mapping[str, str],
    null_scores: Mapping[str, float],
    answerable: Mapping[str, bool],
) -> BestThreshold:
    """Answer ever more questions, those of least doubt first, and remember where the sum was highest."""
    order = sorted(scores, key=null_scores.__getitem__)
    total: float = sum(not each for each in answerable.values())
    # No question answered: 0 for probabilities, as the official script; but logits lie below 0 too.
    lowest = null_scores[order[0]]
    best, threshold = total, 0.0 if lowest >= 0 else lowest - 1.0
    for name in order:
        total += scores[name] if answerable[name] else -1 if predictions[name] else 0
        if total > best:
            best, threshold = total, null_scores[name]
    following = (null_scores[name] for name in order if null_scores[name] > threshold)
    kept = (threshold + next(following, threshold + 2.0)) / 2
    return BestThreshold(100.0 * best / len(scores), threshold, kept)


def with_threshold(
    predictions: Mapping[str, str], null_scores: Mapping[str, float], threshold: float
) -> dict[str, str]:
    """The predictions, "" where the null score is greater than `threshold`."""
    return {name: "" if null_scores[name] > threshold else text for name, text in predictions.items()}


def scores_with_threshold(
    questions: Sequence[Question], scores: QuestionScores, null_scores: Mapping[str, float], threshold: float
) -> QuestionScores:
    """What the questions score when those above the threshold are called unanswerable."""
    right = {question.id: float(not question.answers) for question in questions}

    def applied(values: Mapping[str, float]) -> dict[str, float]:
        return {name: right[name] if null_scores[name] > threshold else value for name, value in values.items()}

    return QuestionScores(applied(scores.exact), applied(scores.f1))
