"""Logits → answers → an evaluation, for every kind whose answers are labels, options or numbers.

Before: what a model gave for each sequence. After: `kinds`, which names these functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import nn

from litebert.tasks.encoded import Encoded
from litebert.tasks.features import Inputs
from litebert.tasks.labelled_data import LETTERS, LabelledData
from litebert.tasks.metrics.calibration import calibration
from litebert.tasks.metrics.entities import entities, entity_scores
from litebert.tasks.metrics.evaluation import Evaluation, Part, parts, parts_by_length
from litebert.tasks.metrics.metrics import confusion_matrix, measure, wilson_interval
from litebert.tasks.task_type import Task
from litebert.tasks.types.token_classification import TokenSequences

MULTI_LABEL_THRESHOLD: Final = 0.5
"""Probability from which one of several labels is given."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One example with its answer, for a person who looks for what goes wrong."""

    shown: str
    expected: str
    predicted: str
    loss: float
    """How wrong the answer is; larger is worse."""
    right: bool


def sequence_logits(model: nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """Float32 [C] for each sequence, or each set of options."""
    output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    return list(output.logits.float().cpu().numpy())


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of logits, along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def evaluate_classes(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> Evaluation:
    """One label or option out of several."""
    logits, targets = np.stack(outputs), _targets(data)
    labels = class_names(task, logits.shape[1])
    predictions = logits.argmax(-1)
    right = int((predictions == targets).sum())

    def measured(rows: np.ndarray) -> dict[str, float]:
        return measure(task.metrics, predictions[rows], targets[rows])

    return Evaluation(
        **_figures_and_parts(measured, data, encoded),
        accuracy_interval=wilson_interval(right, len(targets)),
        labels=labels,
        confusion_matrix=confusion_matrix(predictions, targets, num_labels=len(labels)),
        calibration=calibration(softmax(logits), targets),
    )


def evaluate_scores(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> Evaluation:
    """A number."""
    predictions, targets = np.stack(outputs)[:, 0], _targets(data)

    def measured(rows: np.ndarray) -> dict[str, float]:
        return measure(task.metrics, predictions[rows], targets[rows])

    return Evaluation(**_figures_and_parts(measured, data, encoded))


def evaluate_sets(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> Evaluation:
    """Any number of labels."""
    predictions, targets = (np.stack(outputs) >= 0).astype(int), _targets(data).astype(int)

    def measured(rows: np.ndarray) -> dict[str, float]:
        return measure(task.metrics, predictions[rows], targets[rows])

    by_label = tuple(
        Part(name, int(targets[:, index].sum()), _binary_f1(predictions[:, index], targets[:, index]))
        for index, name in enumerate(task.labels or ())
    )
    return Evaluation(**_figures_and_parts(measured, data, encoded), labels=task.labels, by_label=by_label)


def evaluate_tags(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> Evaluation:
    """A label for each word."""
    predicted, true = _tags(task, outputs, encoded), _true_tags(task, data)

    def measured(rows: np.ndarray) -> dict[str, float]:
        return measure(task.metrics, [predicted[row] for row in rows], [true[row] for row in rows])

    lengths = np.array([len(each.words) for each in data.examples])
    figures = _figures_and_parts(measured, data, lengths)
    return Evaluation(**figures, labels=task.labels, by_label=_by_type(predicted, true))


def judge_classes(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> list[Verdict]:
    """The verdict on each example; its loss is the cross-entropy."""
    probabilities = softmax(np.stack(outputs))
    labels = class_names(task, probabilities.shape[1])
    verdicts = []
    for example, given in zip(data.examples, probabilities, strict=True):
        best, target = int(given.argmax()), int(example.target)
        expected, predicted = f"{labels[target]} ({given[target]:.3f})", f"{labels[best]} ({given[best]:.3f})"
        loss = -float(np.log(max(given[target], 1e-30)))
        verdicts.append(Verdict(shown(example), expected, predicted, loss, best == target))
    return verdicts


def judge_scores(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> list[Verdict]:
    """The verdict on each example; its loss is the squared error, and only the very number is right."""
    verdicts = []
    for example, given in zip(data.examples, np.stack(outputs)[:, 0], strict=True):
        error = float(given) - example.target
        verdicts.append(Verdict(shown(example), f"{example.target:.3f}", f"{given:.3f}", error**2, error == 0))
    return verdicts


def judge_sets(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> list[Verdict]:
    """The verdict on each example; its loss is the summed binary cross-entropy."""
    verdicts = []
    for example, logits in zip(data.examples, outputs, strict=True):
        target = np.array(example.target) > 0
        loss = float(np.logaddexp(0, np.where(target, -logits, logits)).sum())
        given = logits >= 0
        expected, predicted = _joined(task, target), _joined(task, given)
        verdicts.append(Verdict(shown(example), expected, predicted, loss, bool((given == target).all())))
    return verdicts


def judge_tags(task: Task, outputs: Sequence[np.ndarray], data: LabelledData, encoded: Encoded) -> list[Verdict]:
    """The verdict on each sentence; its loss is the number of wrong words."""
    verdicts = []
    for example, given, true in zip(data.examples, _tags(task, outputs, encoded), _true_tags(task, data), strict=True):
        wrong = sum(one != other for one, other in zip(given, true, strict=True))
        expected, predicted = _spelt(example.words, true), _spelt(example.words, given)
        verdicts.append(Verdict(" ".join(example.words), expected, predicted, wrong, not wrong))
    return verdicts


def class_names(task: Task, count: int) -> tuple[str, ...]:
    """Names of the labels, or letters for options."""
    return task.labels or LETTERS[:count]


def shown(example: Any) -> str:
    """The texts of an example for a person."""
    if hasattr(example, "options"):
        options = (f"{letter}. {option}" for letter, option in zip(LETTERS, example.options, strict=False))
        return "\n".join([example.text, example.question or "", *options])
    return example.text if example.text_pair is None else f"{example.text}\n{example.text_pair}"


def _figures_and_parts(measured: Any, data: LabelledData, lengths: Encoded | np.ndarray) -> dict[str, Any]:
    """What every evaluation holds."""
    count = len(data.examples)
    sizes = lengths if isinstance(lengths, np.ndarray) else lengths.lengths
    return {
        "metrics": measured(np.arange(count)),
        "examples": count,
        "by_length": parts_by_length(sizes, measured),
        "by_slice": parts([each.slice for each in data.examples], measured),
    }


def _targets(data: LabelledData) -> np.ndarray:
    return np.array([each.target for each in data.examples])


def _binary_f1(predictions: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    return {"f1": float(2 * (predictions & targets).sum() / max(predictions.sum() + targets.sum(), 1))}


def _tags(task: Task, outputs: Sequence[np.ndarray], encoded: Encoded) -> list[list[str]]:
    assert isinstance(encoded, TokenSequences), encoded
    labels = task.labels or ()
    return [[labels[index] for index in each.argmax(-1)] for each in encoded.by_example(outputs)]


def _true_tags(task: Task, data: LabelledData) -> list[list[str]]:
    labels = task.labels or ()
    return [[labels[index] for index in each.tags] for each in data.examples]


def _by_type(predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> tuple[Part, ...]:
    """Scores of the entities of each type, as if there were no others."""
    rows = []
    for name in sorted({found for tags in true for found, _, _ in entities(tags)}):
        ours, theirs = (
            [[tag if tag.partition("-")[2] == name else "O" for tag in tags] for tags in each]
            for each in (predicted, true)
        )
        rows.append(Part(name, sum(len(entities(tags)) for tags in theirs), entity_scores(ours, theirs)))
    return tuple(rows)


def _joined(task: Task, given: np.ndarray) -> str:
    return ", ".join(name for name, is_given in zip(task.labels or (), given, strict=True) if is_given) or "(none)"


def _spelt(words: Sequence[str], tags: Sequence[str]) -> str:
    found = sorted(entities(tags), key=lambda entity: entity[1])
    return "; ".join(f"{name}: {' '.join(words[start:end])}" for name, start, end in found) or "(none)"
