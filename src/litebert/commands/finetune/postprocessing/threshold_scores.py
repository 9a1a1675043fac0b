"""What tuned thresholds change: scores at 0.5, and with thresholds from the development rows, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from litebert.tasks.metrics.label_thresholds import FOLDS

CLEAR_GAIN: Final = 0.02
"""Gain in a metric from which `tune_thresholds` is advised."""


@dataclass(frozen=True, kw_only=True)
class ThresholdScores:
    """Scores of one model on the development rows with three sets of thresholds: metric → score."""

    tuned: bool
    """Whether the model has the thresholds; otherwise it predicts every label from 0.5."""
    thresholds: dict[str, float]
    """Label → the probability, before the bias is shifted, from which it is predicted with `tune_thresholds`; of two
    classes only the second, as its threshold is that of both."""
    at_half: dict[str, float]
    """Every label is predicted from 0.5."""
    cross_fitted: dict[str, float]
    """Each row has thresholds that were chosen on the other folds: what to expect on other rows."""
    same_rows: dict[str, float]
    """Every row has the thresholds of the model, which it helped to choose: optimistic."""

    def to_text(self, metric: str) -> str:
        """A line about the thresholds of the model, or the advice to tune them; empty if they change little."""
        return self._tuned_line() if self.tuned else self._advice(metric)

    @property
    def description(self) -> str:
        """How the model has its thresholds, and which scores are shown, for the model card."""
        return (
            f"tuned on the development examples ({self._range()}) and stored in the bias of the classifier: a label is "
            "predicted from a probability of 0.5, which is no estimate of a share; the scores are "
            f"cross-fitted over {FOLDS} folds"
        )

    def _tuned_line(self) -> str:
        found = f"{'thresholds' if len(self.thresholds) > 1 else 'threshold'} of {self._range()}"
        if not self.at_half:
            return f"{found}; the metrics above do not depend on them"
        scores = f"at 0.5 {_listed(self.at_half)}; on the rows that chose the thresholds {_listed(self.same_rows)}"
        return f"{found}; the scores above are cross-fitted; {scores}"

    def _advice(self, metric: str) -> str:
        """One line if a metric gains clearly and `metric` loses nothing."""
        gains = {name: score - self.at_half[name] for name, score in self.cross_fitted.items()}
        clear = [name for name, gain in gains.items() if gain >= CLEAR_GAIN]
        if not clear or gains.get(metric, 0.0) < 0:
            return ""
        changes = ", ".join(f"{name} {self.at_half[name]:.4f} → {self.cross_fitted[name]:.4f}" for name in clear)
        found = "a threshold for each label" if len(self.thresholds) > 1 else f"a threshold of {self._range()}"
        return f"{found} instead of 0.5: {changes} (cross-fitted); set tune_thresholds=true"

    def _range(self) -> str:
        """`0.12 for 'spam'`, or the range of several: `10 labels: 0.02 to 0.41`."""
        if len(self.thresholds) == 1:
            ((label, threshold),) = self.thresholds.items()
            return f"{threshold:.2f} for {label!r}"
        lowest, highest = min(self.thresholds.values()), max(self.thresholds.values())
        return f"{len(self.thresholds)} labels: {lowest:.2f} to {highest:.2f}"


def _listed(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
