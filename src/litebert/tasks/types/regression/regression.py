"""The task type `regression`: a number for each text or pair of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import Tensor, nn

from litebert.model.losses import regression_loss
from litebert.tasks.encoded import LabelledBatch, encode_sequences
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import (
    MAX_INTEGER_CLASSES,
    distinct_numbers,
    label_scores,
    non_empty_labels,
)
from litebert.tasks.readers.tables import Table
from litebert.tasks.task import Task
from litebert.tasks.types.scoring import chance_level, measured, overall_and_parts
from litebert.tasks.types.task_type import (
    CardEntry,
    ErrorExample,
    ExampleReader,
    Loss,
    LossSums,
    ReadOptions,
    ReadResult,
    Result,
    Scored,
    TaskType,
)
from litebert.tasks.types.text_baselines import SCORE_BASELINES
from litebert.tasks.types.text_examples import (
    logits_of,
    num_examples,
    read_text_inputs,
    read_texts,
    sequence_logits,
    shown,
    targets_of,
)


@dataclass(frozen=True, slots=True)
class Regression(Result):
    """The predicted score of one text."""

    value: float

    def to_record(self) -> dict[str, Any]:
        """The score."""
        return {"prediction": self.value}


def _guess(table: Table, columns: Columns) -> str | None:
    label = columns.names().label
    numbers = distinct_numbers(table, label, non_empty_labels(table, label))
    if numbers is None:
        return None
    if any(number != int(number) for number in numbers):
        return f"the column {label!r} holds fractions"
    return (
        f"the column {label!r} holds {len(numbers)} different numbers" if len(numbers) > MAX_INTEGER_CLASSES else None
    )


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.names().label
    return read_texts(table, columns, label_scores(table, label, non_empty_labels(table, label)))


def squared_errors(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed squared error. Source: the STS-B branch of run_classifier.py."""
    return LossSums({"score": regression_loss(logits_of(model, batch.inputs).squeeze(-1), batch.labels)}, {})


def _score(logits: np.ndarray, settings: InputSettings, dtype: type[np.floating]) -> np.ndarray:
    return logits.astype(dtype)


def _decode(score: np.ndarray, example: Any, labels: Sequence[str], settings: InputSettings) -> Regression:
    return Regression(float(score[0]))


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    predicted, targets = np.stack(predictions)[:, 0], targets_of(data)
    return Scored(
        Evaluation(**overall_and_parts(measured(task, predicted, targets), data, lengths)), predicted, targets
    )


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    """Every example; the loss is the squared error, and only the exact score is correct."""
    errors = []
    for example, (score,) in zip(data.examples, predictions, strict=True):
        error = float(score) - example.target
        errors.append(ErrorExample(shown(example), f"{example.target:.3f}", f"{score:.3f}", error**2, error == 0))
    return errors


def _collapse(evaluation: Mapping[str, Any]) -> str | None:
    name, value = max(evaluation["metrics"].items(), key=lambda item: item[1])
    return chance_level(name, value, evaluation["examples"])


def _tenths(data: LabelledData) -> list[int]:
    """The tenth of the scores, by their size, in which each example is."""
    targets = targets_of(data)
    return np.searchsorted(np.quantile(targets, np.arange(1, 10) / 10), targets).tolist()


REGRESSION: Final = TaskType(
    name="regression",
    model="ForSequenceClassification",
    head=("classifier",),
    problem_type="regression",
    metrics=("pearson", "spearman"),
    reader=ExampleReader(guess=_guess, read=_read, read_inputs=read_text_inputs),
    encode=encode_sequences,
    loss=Loss(counts=lambda batch: {"score": num_examples(batch)}, sums=squared_errors),
    forward=sequence_logits,
    predict=_score,
    decode=_decode,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=_collapse,
    card=CardEntry(
        title="An ALBERT regressor",
        pipeline_tag="text-classification",
        method="regress",
        argument='["a text"]',
        pair_argument='[("a text", "its pair")]',
        goal=lambda task: f"the score {task.label!r}",
    ),
    strata=_tenths,
    baselines=SCORE_BASELINES,
)
