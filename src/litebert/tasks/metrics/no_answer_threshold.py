"""The threshold of the null score above which "no answer" is predicted.

A question is predicted unanswerable when its null score is greater than the threshold. Source: the evaluation script of
SQuAD 2.0. google-research/albert uses "greater or equal", which rejects the very question the threshold was read from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from litebert.tasks.metrics.squad_metrics import score_with_unanswerable
from litebert.tasks.types.extractive_qa.questions import Question


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The threshold with the best score, and that score in percent."""

    score: float
    threshold: float
    """That of the official script: the null score of the last answered question."""
    midpoint: float
    """Halfway to the next null score, where rounding does not change a decision. It has the same score, unless null
    scores are tied: the official script counts the questions of a tie one by one, but a threshold answers all of them
    or none, so it is then the best between two different null scores."""


@dataclass(frozen=True, slots=True)
class BestThresholds:
    """The best thresholds for exact match and for F1."""

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
    """Chosen on `questions`; `predictions` are the best spans, whatever the null scores.

    Null scores are logits, or probabilities in [0, 1].
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
    """Answer one more question at a time, by increasing null score, and take the highest sum."""
    order = sorted(scores, key=null_scores.__getitem__)
    total: float = sum(not each for each in answerable.values())
    # No question answered: 0 for probabilities, as in the official script; logits may be negative.
    lowest = null_scores[order[0]]
    best, threshold = total, 0.0 if lowest >= 0 else lowest - 1.0
    reachable, below = best, threshold
    for name, following in zip(order, [*order[1:], None], strict=True):
        total += scores[name] if answerable[name] else -1 if predictions[name] else 0
        if total > best:
            best, threshold = total, null_scores[name]
        ends_tie = following is None or null_scores[following] > null_scores[name]
        if ends_tie and total > reachable:
            reachable, below = total, null_scores[name]
    above = next((null_scores[name] for name in order if null_scores[name] > below), below + 2.0)
    midpoint = (below + above) / 2
    return BestThreshold(100.0 * best / len(scores), threshold, midpoint)
