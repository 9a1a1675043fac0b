"""The task type `multi_label`: any number of labels for each text or pair of texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Part
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import (
    SEPARATOR,
    label_indicators,
    label_lists,
    label_names,
    weights_by_label,
)
from litebert.tasks.readers.tables import Table
from litebert.tasks.task import Task
from litebert.tasks.types.classification.classification import labels_goal
from litebert.tasks.types.task_type import (
    CardEntry,
    ClassWeights,
    ErrorExample,
    ExampleReader,
    Loss,
    LossSums,
    ReadOptions,
    ReadResult,
    Result,
    Scored,
    TaskType,
    logits_of,
    no_label_found,
    read_texts,
    score,
    targets_of,
)
from litebert.tasks.types.text_baselines import LABEL_BASELINES

MULTI_LABEL_THRESHOLD: Final = 0.5
"""Probability from which a label is predicted."""


@dataclass(frozen=True, slots=True)
class MultiLabelPrediction(Result):
    """The predicted labels of one text, possibly none."""

    labels: tuple[str, ...]
    probabilities: dict[str, float]
    """Of every label, in the order of the model; they do not sum to one."""

    def to_record(self) -> dict[str, Any]:
        """Labels and probabilities."""
        labels = list(self.labels)
        return {"prediction": SEPARATOR.join(labels), "labels": labels, "probabilities": self.probabilities}


def _guess(table: Table, columns: Columns) -> str | None:
    label = columns.names().label
    texts = table.texts(label, lists=True)
    if any(isinstance(row.values[label], list) for row in table.rows):
        return f"the column {label!r} holds lists"
    return f"the column {label!r} holds labels with {SEPARATOR!r} between them" if _has_separator(texts) else None


def _has_separator(texts: Sequence[str]) -> bool:
    """Whether labels are joined by the separator: the parts must also occur alone or in other combinations."""
    parts = Counter(part.strip() for text in texts for part in set(text.split(SEPARATOR)))
    return any(SEPARATOR in text and all(parts[part.strip()] > 1 for part in text.split(SEPARATOR)) for text in texts)


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.names().label
    lists = label_lists(table, label)
    names = (
        tuple(options.labels) if options.labels else label_names(table, label, [name for row in lists for name in row])
    )
    return read_texts(table, columns, label_indicators(table, label, lists, names), names)


def binary_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed binary cross-entropy of every label, times the label's weight where it is present."""
    logits = logits_of(model, batch.inputs)
    weights = None if weights is None else weights.to(logits.device)
    loss = F.binary_cross_entropy_with_logits(logits.float(), batch.labels, pos_weight=weights, reduction="sum")
    return LossSums({"label": loss}, {"label": ((logits >= 0) == (batch.labels > 0)).sum()})


def _class_weights(setting: ClassWeights, train: LabelledData) -> np.ndarray:
    """How many absent labels a present one counts for; `balanced`: as many as there are for each present one."""
    labels = train.labels or ()
    if not isinstance(setting, str):
        return weights_by_label(setting, labels)
    rows, counts = len(train.examples), np.sum([each.target for each in train.examples], axis=0)
    for label, count in zip(labels, counts, strict=True):
        if count in (0, rows):
            raise ConfigError(
                f"class_weights: {'no' if count == 0 else 'every'} training row has the label {label!r}, which cannot "
                "be balanced; give the weights by label"
            )
    return (rows - counts) / counts


def _probabilities(logits: np.ndarray, settings: InputSettings, dtype: type[np.floating]) -> np.ndarray:
    """Independent probabilities of the labels, float64 [C]."""
    negative = -logits.astype(np.float64)
    # The two differ in the last bit. Published predictions of single models and of ensembles have these bits.
    return 1 / (1 + np.exp(negative)) if dtype is np.float32 else np.exp(-np.logaddexp(0, negative))


def _decode(
    probabilities: np.ndarray, example: Any, labels: Sequence[str], settings: InputSettings
) -> MultiLabelPrediction:
    by_label = dict(zip(labels, probabilities.tolist(), strict=True))
    return MultiLabelPrediction(tuple(name for name in by_label if by_label[name] >= MULTI_LABEL_THRESHOLD), by_label)


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    probabilities = np.stack(predictions)
    predicted = (probabilities >= MULTI_LABEL_THRESHOLD).astype(int)
    targets = targets_of(data).astype(int)
    by_label = tuple(
        Part(name, int(targets[:, index].sum()), _binary_f1(predicted[:, index], targets[:, index]))
        for index, name in enumerate(task.labels or ())
    )
    return score(
        *(task, predicted, targets, data, lengths), probabilities=probabilities, labels=task.labels, by_label=by_label
    )


def _binary_f1(predicted: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    return {"f1": float(2 * (predicted & targets).sum() / max(predicted.sum() + targets.sum(), 1))}


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    """Every example with its prediction; the loss is the summed binary cross-entropy."""
    errors = []
    for example, probabilities in zip(data.examples, predictions, strict=True):
        target, predicted = np.array(example.target) > 0, probabilities >= MULTI_LABEL_THRESHOLD
        loss = -float(np.log(np.maximum(np.where(target, probabilities, 1 - probabilities), 1e-30)).sum())
        names = _joined(task, target), _joined(task, predicted)
        errors.append(ErrorExample(example.to_text(), *names, loss, bool((predicted == target).all())))
    return errors


def _joined(task: Task, given: np.ndarray) -> str:
    return ", ".join(name for name, is_given in zip(task.labels or (), given, strict=True) if is_given) or "(none)"


def _rarest_labels(data: LabelledData) -> list[int | None]:
    """The label of each example that the fewest examples have; None for an example without labels."""
    counts = targets_of(data).sum(0)
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
    other_metrics=("weighted_f1", "roc_auc"),
    reader=ExampleReader(guess=_guess, read=_read),
    loss=Loss(counts=lambda batch: {"label": batch.labels.numel()}, sums=binary_losses, class_weights=_class_weights),
    predict=_probabilities,
    decode=_decode,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=no_label_found,
    card=CardEntry(title="An ALBERT multi-label classifier", method="classify_multi_label", goal=labels_goal),
    strata=_rarest_labels,
    baselines=LABEL_BASELINES,
)
