"""The task type `classification`: one label for each text or pair of texts.

Multiple choice shares what follows from the probabilities of the classes.
"""

import logging
from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.errors import DataError
from litebert.loss_sums import LossSums
from litebert.model.losses import classification_loss, is_correct
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task, label_masses
from litebert.tasks.metrics.evaluation import Evaluation, Part, Scored, label_part
from litebert.tasks.metrics.metrics import calibration, confusion_matrix, wilson_interval
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_classes
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import (
    MAX_INTEGER_CLASSES,
    distinct_numbers,
    joined_labels_note,
    label_indices,
    label_names,
    non_empty_labels,
    refuse_decimal_commas,
    weights_by_label,
)
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import LETTERS
from litebert.tasks.types.built_in_inference import CLASSIFY
from litebert.tasks.types.task_type import (
    CardEntry,
    ClassWeights,
    ErrorExample,
    ExampleReader,
    Loss,
    ReadOptions,
    ReadResult,
    TaskType,
    chance_level,
    read_texts,
    score,
)
from litebert.tasks.types.text_baselines import CLASS_BASELINES

logger = logging.getLogger(__name__)


def _guess(table: Table, columns: Columns) -> str:
    """The last guess: whatever no other task type claims."""
    label = columns.label_name
    values = non_empty_labels(table, label)
    numbers = distinct_numbers(table, label, values)
    if numbers is not None:
        return f"the column {label!r} holds {len(numbers)} different whole numbers"
    refuse_decimal_commas(table, label, values)
    distinct = len(set(values))
    if len(values) >= MAX_INTEGER_CLASSES and distinct > len(values) / 2:
        if note := joined_labels_note(label, values):
            raise DataError(f"{table.path}: {note}")
        raise DataError(
            f"{table.path}: field {label!r}: {distinct} different labels in {len(values)} rows look like texts, not "
            f"labels; name another column (of {', '.join(map(repr, table.columns))}) or set the task type"
        )
    return f"the column {label!r} holds words"


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.label_name
    values = non_empty_labels(table, label)
    labels = tuple(options.labels or label_names(table, label, values))
    if not options.labels and (note := joined_labels_note(label, values)):
        logger.warning("%s: %s", table.path, note)
    return read_texts(table, columns, label_indices(table, label, values, labels), labels)


def _class_weights(setting: ClassWeights, train: LabelledData) -> np.ndarray:
    """Factors of the loss whose mean over the training examples is 1; `balanced`: inverse frequencies."""
    labels = train.labels or ()
    counts = label_masses(train.examples, len(labels))
    weights = 1 / np.maximum(counts, 1) if isinstance(setting, str) else weights_by_label(setting, labels)
    return weights * len(train.examples) / (counts * weights).sum()


def labels_goal(task: Task) -> str:
    """`2 labels: bad, good`."""
    labels = task.labels or ()
    return f"{len(labels)} labels: {', '.join(labels)}"


def class_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed cross-entropy, times the weight of the label. Source: run_classifier.py and race_utils.py.

    With the probabilities of labels, Float [B, C], the cross-entropy is the mean over the labels that they give.
    """
    logits, labels = model(*batch.inputs).logits, batch.labels
    weights = None if weights is None else weights.to(logits.device)
    if labels.is_floating_point():
        loss = F.cross_entropy(logits.float(), labels, weights, reduction="sum")
        return LossSums({"label": loss}, {"label": is_correct(logits, labels.argmax(-1)).sum()})
    loss = (
        classification_loss(logits, labels)
        if weights is None
        else F.cross_entropy(logits.float(), labels, weights, reduction="sum")
    )
    return LossSums({"label": loss}, {"label": is_correct(logits, labels).sum()})


def evaluate_classes(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    """Metrics, scores by label, confusion matrix and calibration."""
    probabilities, targets = np.stack(predictions), data.targets
    predicted, names = probabilities.argmax(-1), class_names(task)[: probabilities.shape[-1]]
    correct, confusion = int((predicted == targets).sum()), confusion_matrix(predicted, targets, num_labels=len(names))
    return score(
        task,
        predicted,
        targets,
        data,
        lengths,
        accuracy_interval=wilson_interval(correct, len(targets)),
        labels=names,
        confusion_matrix=confusion,
        # The letter of an option says nothing about it.
        by_label=_by_label(confusion, names) if task.labels else (),
        calibration=calibration(probabilities, targets),
        probabilities=probabilities,
    )


def _by_label(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> tuple[Part, ...]:
    counts = np.asarray(confusion)
    each = zip(names, counts.diagonal().tolist(), counts.sum(0).tolist(), counts.sum(1).tolist(), strict=True)
    return tuple(label_part(name, correct=right, predicted=given, true=true) for name, right, given, true in each)


def class_errors(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored
) -> list[ErrorExample]:
    """Every example with its prediction; the loss is the cross-entropy."""
    errors, names = [], class_names(task)
    for example, given in zip(data.examples, predictions, strict=True):
        best, target = int(given.argmax()), int(example.target)
        expected, predicted = f"{names[target]} ({given[target]:.3f})", f"{names[best]} ({given[best]:.3f})"
        loss = -float(np.log(max(given[target], 1e-30)))
        errors.append(ErrorExample(example.to_text(), expected, predicted, loss, best == target))
    return errors


def class_names(task: Task) -> tuple[str, ...]:
    """The labels of a task, or the letters of options."""
    return task.labels or LETTERS


def class_collapse(evaluation: Evaluation) -> str | None:
    """Why a classifier has collapsed: it predicts one class only, or is unrelated to the labels.

    None if all examples have one label, which says nothing about what the model learned.
    """
    matrix = evaluation.confusion_matrix or ()
    if sum(map(any, matrix)) < 2:
        return None
    columns = zip(evaluation.labels or (), zip(*matrix, strict=True), strict=True)
    used = [name for name, column in columns if any(column)]
    if len(used) == 1:
        return f"predicts {used[0]!r} for every example"
    value, variance = matthews_of_confusion(matrix), chance_variance(matrix)
    return chance_level("Matthews correlation", value, evaluation.examples, variance=variance)


def chance_variance(confusion: Sequence[Sequence[int]]) -> float:
    """The variance of `matthews_of_confusion` times the number of examples, for predictions unrelated to the labels.

    It is 1 for two labels, and 1 / (C - 1) for C labels of which each is as frequent as the others. The correlation is
    the sum of the covariances of the indicators of each label, divided by the square root of the product of their
    variances; that of unrelated ones has the variance tr(ST) / (tr(S) tr(T)) / examples, where S and T are the
    covariance matrices of the true and of the predicted labels. Both have at least two labels.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    shares = [counts.sum(axis) / counts.sum() for axis in (1, 0)]
    true, predicted = (np.diag(each) - np.outer(each, each) for each in shares)
    return float((true * predicted).sum() / (np.trace(true) * np.trace(predicted)))


def matthews_of_confusion(confusion: Sequence[Sequence[int]]) -> float:
    """Matthews correlation of counts by [true][predicted]; 0 for predictions unrelated to the labels.

    Source: Gorodkin (2004), for any number of classes.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    total, true, predicted = counts.sum(), counts.sum(1), counts.sum(0)
    spread = (total**2 - (true**2).sum()) * (total**2 - (predicted**2).sum())
    return float((np.trace(counts) * total - true @ predicted) / sqrt(spread)) if spread else 0.0


CLASSIFICATION: Final = TaskType(
    name="classification",
    model="ForSequenceClassification",
    problem_type="single_label_classification",
    has_labels=True,
    metrics=("accuracy",),
    other_metrics=(
        *("f1", "precision", "recall", "macro_f1", "macro_precision", "macro_recall", "weighted_f1"),
        *("balanced_accuracy", "roc_auc", "matthews"),
    ),
    reader=ExampleReader(guess=_guess, read=_read),
    loss=Loss(sums=class_losses, class_weights=_class_weights),
    inference=CLASSIFY,
    predicts_one_class=True,
    evaluate=evaluate_classes,
    error_examples=class_errors,
    collapse=class_collapse,
    predictions=PredictionReader(read=read_classes, reads_probabilities=True),
    card=CardEntry(title="An ALBERT classifier", goal=labels_goal),
    strata=lambda data: [example.target for example in data.examples],
    baselines=CLASS_BASELINES,
)
