"""The result of an evaluation: metrics, and scores by slice, length and label."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np

from litebert.tasks.metrics.metrics import METRICS, Calibration, wilson_interval
from litebert.tasks.metrics.text_table import aligned

LENGTH_LIMITS: Final = (0, 16, 32, 64, 128, 256, 512)
"""Boundaries of the length ranges, in tokens."""
MAX_LABELS: Final = 40
"""Longest table of labels in a report."""


@dataclass(frozen=True, slots=True)
class Part:
    """Scores of a part of the examples."""

    name: str
    examples: int
    metrics: dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Metrics over all examples and over parts of them."""

    metrics: dict[str, float]
    examples: int
    accuracy_interval: tuple[float, float] | None = None
    """Wilson's 95 % interval of the accuracy; None for task types without classes."""
    labels: tuple[str, ...] | None = None
    confusion_matrix: list[list[int]] | None = None
    """Counts by [true label][predicted label]."""
    calibration: Calibration | None = None
    by_length: tuple[Part, ...] = ()
    """By length in tokens, or in words for token classification."""
    by_slice: tuple[Part, ...] = ()
    """By the value of a column, or by the level or genre of a benchmark."""
    by_label: tuple[Part, ...] = field(default=())
    """By label of a classification or multi-label task, or by entity type."""

    @property
    def has_scores(self) -> bool:
        """Whether any metric is a number; none is for a model whose weights have diverged."""
        return not all(map(math.isnan, self.metrics.values()))

    def with_decisions(self, decisions: float) -> Self:
        """The same, with the interval of the accuracy for this effective number of independent decisions."""
        share = float(np.trace(np.array(self.confusion_matrix))) / self.examples
        return replace(self, accuracy_interval=wilson_interval(share * decisions, decisions))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """One line, and below it tables of the slices and of the metrics without slices."""
        interval = ""
        if self.accuracy_interval is not None:
            low, high = self.accuracy_interval
            interval = f" (accuracy, 95 % interval: {low:.1%} to {high:.1%})"
        figures = ", ".join(f"{name} {self.metrics[name]:.4f}" for name in self._first())
        return "\n".join([f"{figures} on {self.examples:,} examples{interval}", *self._tables()])

    def to_report(self) -> str:
        """`to_text`, and below it a table of the labels; of more than 40 labels, only their number."""
        if not self.by_label:
            return self.to_text()
        if len(self.by_label) > MAX_LABELS:
            return f"{self.to_text()}\n  {len(self.by_label)} labels: --json and --report have the scores of each"
        return f"{self.to_text()}\n{_table(self.by_label, self.by_label[0].metrics)}"

    def _shared(self) -> list[str]:
        """Names of the metrics that parts have too; a threshold exists for all examples only."""
        return [
            name for name in self.metrics if all(name in part.metrics for part in (*self.by_slice, *self.by_length))
        ]

    def _first(self) -> list[str]:
        """Names of the metrics of the first line: all, where parts have none of them."""
        return self._shared() or list(self.metrics)

    def _tables(self) -> list[str]:
        shared, first = self._shared(), self._first()
        together = [[f"  {name}", f"{value:.4f}"] for name, value in self.metrics.items() if name not in first]
        slices = [_table(self.by_slice, shared)] if self.by_slice else []
        return [*slices, *([aligned(together)] if together else [])]


@dataclass(frozen=True, slots=True)
class Scored:
    """Predictions evaluated against labels."""

    evaluation: Evaluation
    predicted: Any
    """For each example, as the metrics take it."""
    targets: Any
    """For each example, as the metrics take it."""
    probabilities: np.ndarray | None = None
    """For each example, [N, C], for the metrics that take probabilities."""

    def predicted_for(self, metric: str) -> Any:
        """What this metric takes: probabilities or predictions."""
        return self.probabilities if METRICS[metric].takes_probabilities else self.predicted


def _table(shown: Sequence[Part], metrics: Collection[str]) -> str:
    """A line for each part, with these metrics and the number of examples."""
    rows = [
        [f"  {part.name}", *(f"{part.metrics[name]:.4f}" for name in metrics), f"{part.examples:,}"] for part in shown
    ]
    return aligned([["", *metrics, "examples"], *rows])


def label_part(name: str, *, correct: int, predicted: int, true: int) -> Part:
    """Precision, recall and F1 of a label that `true` examples have; 0 where they are undefined, as in scikit-learn."""
    precision, recall = correct / max(predicted, 1), correct / max(true, 1)
    return Part(name, true, {"precision": precision, "recall": recall, "f1": 2 * correct / max(predicted + true, 1)})


def parts(names: Sequence[str | None], measured: Callable[[np.ndarray], dict[str, float]]) -> tuple[Part, ...]:
    """The scores for each name, in alphabetical order; `measured` computes the metrics of examples by position."""
    positions: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        if name is not None:
            positions.setdefault(name, []).append(index)
    return tuple(Part(name, len(found), measured(np.array(found))) for name, found in sorted(positions.items()))


def parts_by_length(
    lengths: np.ndarray, measured: Callable[[np.ndarray], dict[str, float]], *, unit: str = "tokens"
) -> tuple[Part, ...]:
    """The scores for each range of lengths, counted in `unit`, that has examples; the first has those of length 0."""
    rows = []
    below = min(0, int(lengths.min(initial=1)) - 1)
    longest = max(int(lengths.max(initial=0)), LENGTH_LIMITS[-1])
    for low, high in pairwise((below, *LENGTH_LIMITS[1:], longest)):
        inside = (lengths > low) & (lengths <= high)
        if inside.any():
            rows.append(Part(f"{low + 1} to {high} {unit}", int(inside.sum()), measured(np.flatnonzero(inside))))
    return tuple(rows)
