"""Metrics over all examples, by slice and by length: shared by all task types."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np

from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import parts, parts_by_length
from litebert.tasks.metrics.metrics import measure
from litebert.tasks.task import Task

Measured = Callable[[np.ndarray], dict[str, float]]
"""The metrics of the examples at some positions."""


def measured(task: Task, predicted: Any, targets: Any, probabilities: np.ndarray | None = None) -> Measured:
    """The metrics of `task` as a function of positions."""
    return lambda rows: measure(
        task.metrics,
        take(predicted, rows),
        take(targets, rows),
        None if probabilities is None else probabilities[rows],
    )


def take(values: Any, rows: np.ndarray) -> Any:
    """The values at some positions, of an array or a sequence."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def overall_and_parts(measured: Measured, data: LabelledData, lengths: np.ndarray) -> dict[str, Any]:
    """The fields that every `Evaluation` has."""
    count = len(data.examples)
    return {
        "metrics": measured(np.arange(count)),
        "examples": count,
        "by_length": parts_by_length(lengths, measured),
        "by_slice": parts([each.slice for each in data.examples], measured),
    }


def chance_level(name: str, value: float, examples: int) -> str | None:
    """Why a correlation is no better than chance: that of unrelated variables has a standard error of 1 / √examples."""
    noise = 2 / sqrt(examples)
    return f"predictions at chance level ({name} {value:.3f}, chance reaches {noise:.3f})" if value <= noise else None


def no_label_found(evaluation: Mapping[str, Any]) -> str | None:
    """Why an evaluation by label counts as collapsed: every F1 is zero."""
    scores = [
        value for part in evaluation["by_label"] for name, value in part["metrics"].items() if name.endswith("f1")
    ]
    return "predicts no label correctly" if scores and not any(scores) else None
