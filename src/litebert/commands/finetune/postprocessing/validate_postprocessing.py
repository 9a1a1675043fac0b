"""Settings of postprocessing that a task type has no use for; torch-free until a task type is known."""

from litebert.errors import ConfigError


def validate_postprocessing(task_type: str, *, calibrate: bool, tune_thresholds: bool) -> None:
    """Raise ConfigError for `calibrate` where no single class is predicted, and for `tune_thresholds` without labels
    that are predicted each by itself.
    """
    from litebert.tasks.types.registry import get_task_type  # imports torch

    found = get_task_type(task_type)
    if calibrate and not found.predicts_one_class:
        raise ConfigError(f"calibrate: {task_type} does not choose one class; set calibrate=false")
    if tune_thresholds and not found.predicts_each_label:
        raise ConfigError(
            f"tune_thresholds: only multi_label has a threshold for each label, and this is {task_type}; set "
            "tune_thresholds=false"
        )
