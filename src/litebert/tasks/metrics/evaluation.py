"""What a model scored on labelled examples, as figures and as tables. Before: `answers`. After: runs, `report`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from litebert.tasks.metrics.calibration import Calibration
from litebert.tasks.metrics.text_table import aligned

LENGTH_LIMITS: Final = (0, 16, 32, 64, 128, 256, 512)
"""Limits in tokens between the rows of the table by length."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the examples, scored by themselves."""

    name: str
    examples: int
    metrics: dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Metrics over all examples, and what tells more about classes."""

    metrics: dict[str, float]
    examples: int
    accuracy_interval: tuple[float, float] | None = None
    """Wilson's 95 % interval of the accuracy; None where the answer is no class."""
    labels: tuple[str, ...] | None = None
    confusion_matrix: list[list[int]] | None = None
    """Counts by [true label][predicted label]."""
    calibration: Calibration | None = None
    by_length: tuple[Part, ...] = ()
    """By the number of tokens of an example."""
    by_slice: tuple[Part, ...] = ()
    """By what a column says, or by the level or genre of an official task."""
    by_label: tuple[Part, ...] = field(default=())
    """By type of entity, or by label where an example may have several."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """A line for a person; below it a table of the slices and of what is only known of all rows together."""
        interval = ""
        if self.accuracy_interval is not None:
            low, high = self.accuracy_interval
            interval = f" (accuracy, 95 % interval: {low:.1%} to {high:.1%})"
        figures = ", ".join(f"{name} {self.metrics[name]:.4f}" for name in self._shared())
        return "\n".join([f"{figures} on {self.examples:,} rows{interval}", *self._tables()])

    def _shared(self) -> list[str]:
        """Names of the figures that a part of the rows has too; a threshold is one of all rows together."""
        return [
            name for name in self.metrics if all(name in part.metrics for part in (*self.by_slice, *self.by_length))
        ]

    def _tables(self) -> list[str]:
        shared = self._shared()
        slices = [
            [f"  {part.name}", *(f"{part.metrics[name]:.4f}" for name in shared), f"{part.examples:,}"]
            for part in self.by_slice
        ]
        together = [[f"  {name}", f"{value:.4f}"] for name, value in self.metrics.items() if name not in shared]
        header = ["", *shared, "rows"]
        return [aligned(rows) for rows in ([header, *slices] if slices else [], together) if rows]


def parts(names: Sequence[str | None], measured: Callable[[np.ndarray], dict[str, float]]) -> tuple[Part, ...]:
    """A row for each name, in alphabetical order; `measured` gives the metrics of examples by their positions."""
    rows = []
    for name in sorted({name for name in names if name is not None}):
        positions = np.array([index for index, other in enumerate(names) if other == name])
        rows.append(Part(name, len(positions), measured(positions)))
    return tuple(rows)


def parts_by_length(lengths: np.ndarray, measured: Callable[[np.ndarray], dict[str, float]]) -> tuple[Part, ...]:
    """A row for each range of lengths in which there are examples."""
    rows = []
    longest = max(int(lengths.max(initial=0)), LENGTH_LIMITS[-1])
    for low, high in pairwise((*LENGTH_LIMITS, longest)):
        inside = (lengths > low) & (lengths <= high)
        if inside.any():
            rows.append(Part(f"{low + 1} to {high} tokens", int(inside.sum()), measured(np.flatnonzero(inside))))
    return tuple(rows)
