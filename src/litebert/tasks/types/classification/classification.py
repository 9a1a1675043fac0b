"""The task type `classification`: one label for each text or pair of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.encoded import encode_sequences
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import (
    MAX_INTEGER_CLASSES,
    distinct_numbers,
    label_indices,
    label_names,
    non_empty_labels,
    weights_by_label,
)
from litebert.tasks.readers.tables import Table
from litebert.tasks.task import Task
from litebert.tasks.types.class_predictions import (
    class_collapse,
    class_errors,
    class_losses,
    class_probabilities,
    evaluate_classes,
)
from litebert.tasks.types.task_type import (
    CardEntry,
    ClassWeights,
    ErrorExample,
    ExampleReader,
    Loss,
    ReadOptions,
    ReadResult,
    Result,
    Scored,
    TaskType,
)
from litebert.tasks.types.text_baselines import CLASS_BASELINES
from litebert.tasks.types.text_examples import (
    num_examples,
    read_text_inputs,
    read_texts,
    sequence_logits,
    shown,
)


@dataclass(frozen=True, slots=True)
class Classification(Result):
    """The predicted label of one text."""

    label: str
    probability: float
    probabilities: dict[str, float]
    """Of every label, in the order of the model."""

    def to_record(self) -> dict[str, Any]:
        """Label and probabilities."""
        return {"prediction": self.label, "probability": self.probability, "probabilities": self.probabilities}


def decode_class(
    probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: InputSettings
) -> Classification:
    """The most probable label."""
    by_label = dict(zip(labels, map(float, probabilities), strict=True))
    label = max(by_label, key=by_label.__getitem__)
    return Classification(label, by_label[label], by_label)


def _guess(table: Table, columns: Columns) -> str:
    """The last guess: whatever no other task type claims."""
    label = columns.names().label
    values = non_empty_labels(table, label)
    numbers = distinct_numbers(table, label, values)
    if numbers is not None:
        return f"the column {label!r} holds {len(numbers)} different whole numbers"
    distinct = len(set(values))
    if len(values) >= MAX_INTEGER_CLASSES and distinct > len(values) / 2:
        raise DataError(
            f"{table.path}: field {label!r}: {distinct} different labels in {len(values)} rows look like texts, not "
            f"labels; name another column (of {', '.join(map(repr, table.columns))}) or set the task type"
        )
    return f"the column {label!r} holds words"


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.names().label
    values = non_empty_labels(table, label)
    labels = tuple(options.labels) if options.labels else label_names(table, label, values)
    return read_texts(table, columns, label_indices(table, label, values, labels), labels)


def _class_weights(setting: ClassWeights, train: LabelledData) -> np.ndarray:
    """Factors of the loss whose mean over the training examples is 1; `balanced`: inverse frequencies."""
    labels = train.labels or ()
    counts = np.bincount([each.target for each in train.examples], minlength=len(labels))
    weights = 1 / np.maximum(counts, 1) if isinstance(setting, str) else weights_by_label(setting, labels)
    return weights * len(train.examples) / (counts * weights).sum()


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    return evaluate_classes(task, predictions, data, lengths, task.labels or ())


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    return class_errors(predictions, data, task.labels or (), shown)


def labels_goal(task: Task) -> str:
    """`2 labels: bad, good`."""
    labels = task.labels or ()
    return f"{len(labels)} labels: {', '.join(labels)}"


CLASSIFICATION: Final = TaskType(
    name="classification",
    model="ForSequenceClassification",
    head=("classifier",),
    problem_type="single_label_classification",
    has_labels=True,
    metrics=("accuracy",),
    other_metrics=("f1", "macro_f1", "weighted_f1", "balanced_accuracy", "roc_auc", "matthews"),
    reader=ExampleReader(guess=_guess, read=_read, read_inputs=read_text_inputs),
    encode=encode_sequences,
    loss=Loss(counts=lambda batch: {"label": num_examples(batch)}, sums=class_losses, class_weights=_class_weights),
    forward=sequence_logits,
    predict=class_probabilities,
    decode=decode_class,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=class_collapse,
    card=CardEntry(
        title="An ALBERT classifier",
        pipeline_tag="text-classification",
        method="classify",
        argument='["a text"]',
        pair_argument='[("a text", "its pair")]',
        goal=labels_goal,
    ),
    strata=lambda data: [example.target for example in data.examples],
    baselines=CLASS_BASELINES,
)
