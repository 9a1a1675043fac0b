"""Averaged predictions → answers and figures. Before: `ensemble`. After: `ensemble_gain`, `runs.ensemble`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from litebert.tasks.encoded import Encoded
from litebert.tasks.ensembling.averaging import AVERAGING, Predictions
from litebert.tasks.ensembling.span_alignment import answers_from
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.task_type import Task
from litebert.tasks.types.predictions import MULTI_LABEL_THRESHOLD
from litebert.tasks.types.registry import KINDS
from litebert.tasks.types.span_answers import QuestionAnswers
from litebert.tasks.types.span_evaluation import THRESHOLD, evaluate_answers
from litebert.tasks.types.span_features import EncodedQuestions


@dataclass(frozen=True)
class Examined:
    """Predictions about labelled rows, scored."""

    evaluation: Evaluation
    answers: Any
    """One for each row, as the metrics take them."""


def examine(
    task: Task, predictions: Predictions, data: LabelledData, encoded: Encoded, *, threshold: float | None = None
) -> Examined:
    """Score predictions; `encoded` are the rows as any of the members reads them.

    `threshold` is that of the null score of questions; None chooses the one that is best for these rows.
    """
    outputs = AVERAGING[task.kind].outputs
    if outputs is not None:
        evaluation = KINDS[task.kind].evaluate(task, outputs(predictions, encoded), data, encoded)
        return Examined(evaluation, _chosen(task, predictions))
    found = question_answers(predictions, data, encoded)
    evaluation = evaluate_answers(task, found, data, encoded, threshold=threshold)
    limit = evaluation.metrics.get(THRESHOLD, 0.0)
    return Examined(evaluation, [answers.text(limit) for answers in found])


def question_answers(predictions: Predictions, data: LabelledData, encoded: Encoded) -> list[QuestionAnswers]:
    """The answers by averaged scores of spans."""
    assert isinstance(encoded, EncodedQuestions), encoded
    return answers_from(predictions, data.examples, size=encoded.settings.n_best)


def targets_of(task: Task, data: LabelledData) -> Any:
    """What is right for each row, as the metrics take it."""
    if task.kind in ("spans", "answerability"):
        return list(data.examples)
    if task.kind == "tokens":
        return [_names(task, each.tags) for each in data.examples]
    targets = np.array([each.target for each in data.examples])
    return targets.astype(int) if task.kind == "multi_label" else targets


def _chosen(task: Task, predictions: Predictions) -> Any:
    if task.kind == "tokens":
        return [_names(task, each.argmax(-1)) for each in predictions]
    if task.kind == "multi_label":
        return (np.stack(predictions) >= MULTI_LABEL_THRESHOLD).astype(int)
    if task.kind == "regression":
        return np.stack(predictions)[:, 0]
    return np.stack(predictions).argmax(-1)


def _names(task: Task, indices: Sequence[int] | np.ndarray) -> list[str]:
    labels = task.labels or ()
    return [labels[index] for index in indices]
