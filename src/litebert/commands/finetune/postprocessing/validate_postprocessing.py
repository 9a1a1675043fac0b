"""Settings of postprocessing that a task has no use for; torch-free until a task type is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from litebert.errors import ConfigError

if TYPE_CHECKING:
    from litebert.tasks.types.task_type import TaskType


def has_thresholds(task_type: TaskType, labels: Sequence[str]) -> bool:
    """Whether `tune_thresholds` can choose any: of labels that are predicted each by itself, or of two classes."""
    is_of_classes = task_type.predicts_one_class and task_type.has_labels
    return task_type.predicts_each_label or (is_of_classes and len(labels) == 2)


def validate_postprocessing(
    task_type: str, labels: Sequence[str] | None = None, *, calibrate: bool, tune_thresholds: bool
) -> None:
    """Raise ConfigError for `calibrate` and `tune_thresholds` where the task has no use for them, and for both.

    Without `labels`, which the data have, their number is not checked.
    """
    from litebert.tasks.types.registry import get_task_type  # imports torch

    found = get_task_type(task_type)
    if calibrate and not found.predicts_one_class:
        raise ConfigError(f"calibrate: {task_type} does not choose one class; set calibrate=false")
    if tune_thresholds and not has_thresholds(found, labels or ("", "")):
        number = f" with {len(labels)} labels" if labels else ""
        raise ConfigError(
            f"tune_thresholds: needs multi_label, or classification with two labels, and this is {task_type}{number}; "
            "set tune_thresholds=false"
        )
    if calibrate and tune_thresholds:
        raise ConfigError(
            "calibrate, tune_thresholds: with a tuned threshold a probability is no share of rows, which calibration "
            "makes it; set one of them to false"
        )
