"""A task: what a model learns from one labelled file."""

from dataclasses import dataclass

ClassWeights = str | dict[str, float]
"""`balanced`, or a weight for each label that does not have weight 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Columns, labels and metrics of a labelled file."""

    task_type: str
    """Name of a registered `TaskType`."""
    text: tuple[str, ...]
    """Columns of the one or two texts of an example."""
    label: str
    """Column of the label."""
    labels: tuple[str, ...] | None
    """Label names; the index in this tuple is the class. None for task types without classes."""
    metrics: tuple[str, ...]
    """Names of metrics, keys of `litebert.tasks.metrics.metrics.METRICS`."""
    metric_for_best_model: str
    """The one of `metrics` that selects the best model; higher is better."""
