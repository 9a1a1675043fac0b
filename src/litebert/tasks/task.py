"""A task is a row of data: which columns hold what, how success is measured.

Before: nothing. After: features, runs.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["classification", "regression"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What to learn from a labelled file."""

    text: tuple[str, ...]
    """Names of the one or two columns of text."""
    label: str
    """Name of the column of the label or score."""
    labels: tuple[str, ...] | None
    """Label names; the index in this tuple is the class. None: the task is a regression."""
    metrics: tuple[str, ...]
    """Names in `litebert.tasks.metrics.METRICS`."""
    select_by: str
    """The one of `metrics` that chooses the best model; higher is better."""

    @property
    def kind(self) -> Kind:
        """Classification or regression."""
        return "regression" if self.labels is None else "classification"

    @property
    def num_outputs(self) -> int:
        """Width of the head: a logit for each label, or one score."""
        return len(self.labels) if self.labels else 1
