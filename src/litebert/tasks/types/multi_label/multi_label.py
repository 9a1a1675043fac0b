"""The task type `multi_label`: any number of labels for each text or pair of texts."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.errors import ConfigError, DataError
from litebert.loss_sums import LossSums
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task, label_masses
from litebert.tasks.metrics.evaluation import Scored, label_part
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_label_sets
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import (
    joined_labels_note,
    label_indicators,
    label_lists,
    sorted_labels,
    weights_by_label,
)
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import MULTI_LABEL_THRESHOLD, SEPARATOR
from litebert.tasks.types.built_in_inference import CLASSIFY_MULTI_LABEL
from litebert.tasks.types.classification.classification import labels_goal
from litebert.tasks.types.task_type import (
    CardEntry,
    ClassWeights,
    ErrorExample,
    ExampleReader,
    Loss,
    ReadOptions,
    ReadResult,
    TaskType,
    no_label_found,
    read_texts,
    score,
)
from litebert.tasks.types.text_baselines import LABEL_BASELINES

logger = logging.getLogger(__name__)


def _guess(table: Table, columns: Columns) -> str | None:
    label = columns.label_name
    texts = table.texts(label, lists=True)
    if any(isinstance(row.values[label], list) for row in table.rows):
        return f"the column {label!r} holds lists"
    # The parts of joined labels also occur alone or in other combinations.
    parts = Counter(part.strip() for text in texts for part in set(text.split(SEPARATOR)))
    joined = (text.split(SEPARATOR) for text in texts if SEPARATOR in text)
    if any(all(parts[part.strip()] > 1 for part in each) for each in joined):
        return f"the column {label!r} holds labels with {SEPARATOR!r} between them"
    return None


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.label_name
    lists = label_lists(table, label)
    names = tuple(options.labels or ()) or sorted_labels(name for row in lists for name in row)
    if not names:
        raise DataError(f"{table.path}: field {label!r}: no row has a label; give rows with and without each label")
    if len(names) == 1:
        raise DataError(
            f"{table.path}: field {label!r}: {names[0]!r} is the only label; give data with two labels or more, or a "
            "label for every row, such as 'yes' and 'no', for a classification"
        )
    if not options.labels and (note := joined_labels_note(label, [name for row in lists for name in row])):
        logger.warning("%s: %s", table.path, note)
    return read_texts(table, columns, label_indicators(table, label, lists, names), names)


def binary_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed binary cross-entropy of every label, times the label's weight where it is present."""
    logits = model(*batch.inputs).logits
    weights = None if weights is None else weights.to(logits.device)
    loss = F.binary_cross_entropy_with_logits(logits.float(), batch.labels, pos_weight=weights, reduction="sum")
    return LossSums({"label": loss}, {"label": ((logits >= 0) == (batch.labels >= MULTI_LABEL_THRESHOLD)).sum()})


def _class_weights(setting: ClassWeights, train: LabelledData) -> np.ndarray:
    """How many absent labels a present one counts for; `balanced`: as many as there are for each present one."""
    labels = train.labels or ()
    if not isinstance(setting, str):
        return weights_by_label(setting, labels)
    rows, counts = len(train.examples), label_masses(train.examples, len(labels))
    for label, count in zip(labels, counts, strict=True):
        if count in (0, rows):
            raise ConfigError(
                f"class_weights: {'no' if count == 0 else 'every'} training row has the label {label!r}, which cannot "
                "be balanced; give the weights by label"
            )
    return (rows - counts) / counts


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    probabilities = np.stack(predictions)
    predicted = (probabilities >= MULTI_LABEL_THRESHOLD).astype(int)
    targets = data.targets.astype(int)
    by_label = tuple(
        label_part(name, correct=int((given & true).sum()), predicted=int(given.sum()), true=int(true.sum()))
        for name, given, true in zip(task.labels or (), predicted.T, targets.T, strict=True)
    )
    return score(
        task, predicted, targets, data, lengths, probabilities=probabilities, labels=task.labels, by_label=by_label
    )


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    """Every example with its prediction; the loss is the summed binary cross-entropy."""
    errors = []
    for example, probabilities in zip(data.examples, predictions, strict=True):
        target, predicted = np.array(example.target) > 0, probabilities >= MULTI_LABEL_THRESHOLD
        loss = -float(np.log(np.maximum(np.where(target, probabilities, 1 - probabilities), 1e-30)).sum())
        names = _joined(task, target, probabilities), _joined(task, predicted, probabilities)
        errors.append(ErrorExample(example.to_text(), *names, loss, bool((predicted == target).all())))
    return errors


def _joined(task: Task, given: np.ndarray, probabilities: np.ndarray) -> str:
    """The given labels with their probabilities."""
    shown = zip(task.labels or (), given, probabilities, strict=True)
    return ", ".join(f"{name} ({value:.3f})" for name, is_given, value in shown if is_given) or "(none)"


def _rarest_labels(data: LabelledData) -> list[int | None]:
    """The label of each example that the fewest examples have; None for an example without labels."""
    counts = data.targets.sum(0)
    return [
        min((index for index, given in enumerate(example.target) if given), key=counts.__getitem__, default=None)
        for example in data.examples
    ]


MULTI_LABEL: Final = TaskType(
    name="multi_label",
    model="ForSequenceClassification",
    problem_type="multi_label_classification",
    has_labels=True,
    metrics=("micro_f1", "macro_f1", "sample_f1", "subset_accuracy"),
    other_metrics=("macro_precision", "macro_recall", "weighted_f1", "roc_auc"),
    reader=ExampleReader(guess=_guess, read=_read, needs_label=False),
    loss=Loss(counts=lambda batch: {"label": batch.labels.numel()}, sums=binary_losses, class_weights=_class_weights),
    inference=CLASSIFY_MULTI_LABEL,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=no_label_found,
    predictions=PredictionReader(
        columns=("prediction", "labels", "label"), read=read_label_sets, reads_probabilities=True
    ),
    card=CardEntry(title="An ALBERT multi-label classifier", goal=labels_goal),
    strata=_rarest_labels,
    baselines=LABEL_BASELINES,
    predicts_each_label=True,
)
