"""The registered task types, in the order in which a labelled table is compared with them."""

from pathlib import Path
from typing import Final

from litebert.errors import ConfigError, did_you_mean
from litebert.model.io.model_spec import ModelSpec
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.tasks.types.extractive_qa.extractive_qa import EXTRACTIVE_QA, EXTRACTIVE_QA_NO_ANSWER
from litebert.tasks.types.multi_label.multi_label import MULTI_LABEL
from litebert.tasks.types.multiple_choice.multiple_choice import MULTIPLE_CHOICE
from litebert.tasks.types.pronoun_resolution.pronoun_resolution import PRONOUN_RESOLUTION
from litebert.tasks.types.regression.regression import REGRESSION
from litebert.tasks.types.task_type import TaskType
from litebert.tasks.types.token_classification.token_classification import TOKEN_CLASSIFICATION

_BUILT_IN: Final = (
    EXTRACTIVE_QA,
    EXTRACTIVE_QA_NO_ANSWER,
    MULTIPLE_CHOICE,
    PRONOUN_RESOLUTION,
    TOKEN_CLASSIFICATION,
    MULTI_LABEL,
    REGRESSION,
    CLASSIFICATION,
)
_TASK_TYPES: dict[str, TaskType] = {each.name: each for each in _BUILT_IN}


def register(task_type: TaskType) -> None:
    """Add a task type of your own; ConfigError if the name is taken by another, or its results name no columns."""
    if _TASK_TYPES.get(task_type.name, task_type) is not task_type:
        raise ConfigError(f"task_type: {task_type.name!r} is registered already; choose another name")
    result = task_type.inference.result
    if not hasattr(result, "columns"):
        name = result.__name__
        raise ConfigError(f"task_type: {name} has no `columns`; set them to the keys of {name}.to_record")
    # Before the built-in types, whose guesses are more general.
    others = {name: each for name, each in _TASK_TYPES.items() if name != task_type.name}
    _TASK_TYPES.clear()
    _TASK_TYPES.update({task_type.name: task_type, **others})


def unregister(name: str) -> None:
    """Remove a task type of your own; ConfigError for an unknown name, and for a task type of litebert."""
    get_task_type(name)
    if name in (each.name for each in _BUILT_IN):
        raise ConfigError(f"task_type: {name!r} is a task type of litebert; only those that were registered go")
    del _TASK_TYPES[name]


def task_types() -> tuple[TaskType, ...]:
    """Every registered task type."""
    return tuple(_TASK_TYPES.values())


def get_task_type(name: str) -> TaskType:
    """The task type of this name."""
    if name not in _TASK_TYPES:
        known = ", ".join(sorted(_TASK_TYPES))
        raise ConfigError(f"task_type: unknown {name!r}{did_you_mean(name, _TASK_TYPES)}; expected one of {known}")
    return _TASK_TYPES[name]


def task_type_of(directory: Path, spec: ModelSpec) -> TaskType:
    """The task type of a fine-tuned model: the one stored with it, or the one its `config.json` suggests."""
    saved = SavedTask.stored(directory)
    if saved is not None:
        return get_task_type(saved.task_type)
    fitting = [each for each in _TASK_TYPES.values() if each.model == spec.model and each.head]
    if not fitting:
        raise ConfigError(
            f"{directory}: a {spec.model} has no fine-tuned head; give a model directory from `finetune` (a pretrained "
            "model is evaluated with --corpus or --suite)"
        )
    if REGRESSION in fitting and spec.problem_type is None and len(spec.labels) == 1:
        return REGRESSION  # as transformers does
    same = [each for each in fitting if each.problem_type == spec.problem_type]
    return (same or [each for each in fitting if each is CLASSIFICATION] or fitting)[0]
