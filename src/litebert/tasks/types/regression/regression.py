"""The task type `regression`: a number for each text or pair of texts."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from torch import Tensor, nn

from litebert.errors import DataError
from litebert.loss_sums import LossSums
from litebert.model.losses import regression_loss
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from litebert.tasks.prediction_files.prediction_columns import PredictionReader, read_scores
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.label_columns import MAX_INTEGER_CLASSES, distinct_numbers, label_scores, non_empty_labels
from litebert.tasks.readers.tables import Table
from litebert.tasks.types.built_in_inference import REGRESS
from litebert.tasks.types.task_type import (
    CardEntry,
    ErrorExample,
    ExampleReader,
    Loss,
    ReadOptions,
    ReadResult,
    ScoreScale,
    TaskType,
    chance_level,
    read_texts,
    score,
)
from litebert.tasks.types.text_baselines import SCORE_BASELINES

_CORRELATIONS: Final = ("pearson", "spearman")


def _guess(table: Table, columns: Columns) -> str | None:
    label = columns.label_name
    numbers = distinct_numbers(table, label, non_empty_labels(table, label))
    if numbers is None:
        return None
    if any(number != int(number) for number in numbers):
        return f"the column {label!r} holds fractions"
    is_score = len(numbers) > MAX_INTEGER_CLASSES
    return f"the column {label!r} holds {len(numbers)} different numbers" if is_score else None


def _read(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    label = columns.label_name
    return read_texts(table, columns, label_scores(table, label, non_empty_labels(table, label)))


def squared_errors(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed squared error, of scores times the one weight if there is one.

    Source: the STS-B branch of run_classifier.py.
    """
    predictions, targets = model(*batch.inputs).logits.squeeze(-1), batch.labels
    if weights is not None:  # before squaring, which would leave the range of float32 for very small or large scores
        scale = weights[0].to(predictions.device)
        predictions, targets = predictions * scale, targets * scale
    return LossSums({"score": regression_loss(predictions, targets)}, {})


def _mean_and_deviation(data: LabelledData) -> ScoreScale:
    """Mean and standard deviation of the scores; DataError if all are equal."""
    if np.ptp(data.targets) == 0:  # their standard deviation may be 1e-16
        raise DataError(
            f"{data.path}: every training row has the score {data.targets[0]:g}; give data with different scores"
        )
    return ScoreScale(float(data.targets.mean()), float(data.targets.std()))


def _evaluate(
    task: Task, predictions: Sequence[np.ndarray], data: LabelledData, lengths: np.ndarray, settings: InputSettings
) -> Scored:
    predicted, targets = np.stack(predictions)[:, 0], data.targets
    return score(task, predicted, targets, data, lengths)


def _errors(task: Task, predictions: Sequence[np.ndarray], data: LabelledData, scored: Scored) -> list[ErrorExample]:
    """Every example; the loss is the squared error, and only the exact score is correct."""
    errors = []
    for example, (value,) in zip(data.examples, predictions, strict=True):
        error = float(value) - example.target
        errors.append(ErrorExample(example.to_text(), f"{example.target:.3f}", f"{value:.3f}", error**2, error == 0))
    return errors


def _collapse(evaluation: Evaluation) -> str | None:
    correlations = {name: value for name, value in evaluation.metrics.items() if name in _CORRELATIONS}
    if not correlations:
        return None
    name, value = max(correlations.items(), key=lambda item: item[1])
    return chance_level(name, value, evaluation.examples)


def _tenths(data: LabelledData) -> list[int]:
    """The part of the scores, by their size, in which each example is: a tenth of them.

    Fewer than 100 scores have fewer parts, of ten examples or more, so that a tenth of each can be held out.
    """
    targets = data.targets
    parts = min(10, max(1, len(targets) // 10))
    return np.searchsorted(np.quantile(targets, np.arange(1, parts) / parts), targets).tolist()


REGRESSION: Final = TaskType(
    name="regression",
    model="ForSequenceClassification",
    problem_type="regression",
    metrics=_CORRELATIONS,
    other_metrics=("r2", "neg_mean_absolute_error"),
    reader=ExampleReader(guess=_guess, read=_read),
    loss=Loss(counts=lambda batch: {"score": batch.num_examples}, sums=squared_errors, score_scale=_mean_and_deviation),
    inference=REGRESS,
    evaluate=_evaluate,
    error_examples=_errors,
    collapse=_collapse,
    predictions=PredictionReader(columns=("prediction", "score", "label"), read=read_scores),
    card=CardEntry(title="An ALBERT regressor", goal=lambda task: f"the score {task.label!r}"),
    strata=_tenths,
    baselines=SCORE_BASELINES,
)
