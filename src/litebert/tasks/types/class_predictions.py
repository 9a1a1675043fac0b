"""One class out of several, given by probabilities: shared by classification and multiple choice."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.model.losses import classification_loss
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.calibration import calibration
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.metrics.metrics import confusion_matrix, wilson_interval
from litebert.tasks.task import Task
from litebert.tasks.types.scoring import chance_level, measured, overall_and_parts
from litebert.tasks.types.task_type import ErrorExample, LossSums, Scored
from litebert.tasks.types.text_examples import logits_of, targets_of


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of logits, along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def class_probabilities(logits: np.ndarray, settings: InputSettings, dtype: type[np.floating]) -> np.ndarray:
    """Probabilities of the classes, along the last axis, computed in `dtype`."""
    return softmax(logits.astype(dtype))


def class_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed cross-entropy, times the weight of the label. Source: run_classifier.py and race_utils.py."""
    logits = logits_of(model, batch.inputs)
    loss = (
        classification_loss(logits, batch.labels)
        if weights is None
        else F.cross_entropy(logits.float(), batch.labels, weights.to(logits.device), reduction="sum")
    )
    return LossSums({"label": loss}, {"label": num_correct(logits, batch.labels)})


def num_correct(logits: Tensor, labels: Tensor) -> Tensor:
    """Number of rows whose largest logit is that of the label."""
    # The index that argmax gives; on a CPU argmax takes four times as long where logits have 16 bits.
    return (logits.detach().max(-1).indices == labels).sum()


def evaluate_classes(
    task: Task, probabilities: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, names: Sequence[str]
) -> Scored:
    """Metrics, confusion matrix and calibration; `names` are those of the classes."""
    stacked, targets = np.stack(probabilities), targets_of(data)
    predicted = stacked.argmax(-1)
    correct = int((predicted == targets).sum())
    evaluation = Evaluation(
        **overall_and_parts(measured(task, predicted, targets, stacked), data, lengths),
        accuracy_interval=wilson_interval(correct, len(targets)),
        labels=tuple(names),
        confusion_matrix=confusion_matrix(predicted, targets, num_labels=len(names)),
        calibration=calibration(stacked, targets),
    )
    return Scored(evaluation, predicted, targets, stacked)


def class_errors(
    probabilities: Sequence[np.ndarray], data: LabelledData, names: Sequence[str], shown: Callable[[Any], str]
) -> list[ErrorExample]:
    """Every example with its prediction; the loss is the cross-entropy."""
    errors = []
    for example, given in zip(data.examples, probabilities, strict=True):
        best, target = int(given.argmax()), int(example.target)
        expected, predicted = f"{names[target]} ({given[target]:.3f})", f"{names[best]} ({given[best]:.3f})"
        loss = -float(np.log(max(given[target], 1e-30)))
        errors.append(ErrorExample(shown(example), expected, predicted, loss, best == target))
    return errors


def class_collapse(evaluation: Mapping[str, Any]) -> str | None:
    """Why a classifier has collapsed: it predicts one class only, or is unrelated to the labels."""
    matrix = evaluation["confusion_matrix"]
    used = [name for name, column in zip(evaluation["labels"], zip(*matrix, strict=True), strict=True) if any(column)]
    if len(used) == 1:
        return f"predicts {used[0]!r} for every example"
    return chance_level("Matthews correlation", matthews_of_confusion(matrix), evaluation["examples"])


def matthews_of_confusion(confusion: Sequence[Sequence[int]]) -> float:
    """Matthews correlation of counts by [true][predicted]; 0 for predictions unrelated to the labels.

    Source: Gorodkin (2004), for any number of classes.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    total, true, predicted = counts.sum(), counts.sum(1), counts.sum(0)
    spread = (total**2 - (true**2).sum()) * (total**2 - (predicted**2).sum())
    return float((np.trace(counts) * total - true @ predicted) / sqrt(spread)) if spread else 0.0
