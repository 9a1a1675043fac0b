"""A task is a row of data."""

import pytest

from litebert.tasks.task_type import Task


def test_a_task_is_a_value():
    fields = {
        "text": ("a",),
        "label": "y",
        "labels": ("n", "p"),
        "metrics": ("accuracy",),
        "metric_for_best_model": "accuracy",
    }
    task = Task(kind="classification", **fields)
    assert task == Task(kind="classification", **fields)
    with pytest.raises(AttributeError):
        task.kind = "regression"
