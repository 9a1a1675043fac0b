"""Predictions of a file, by any program, scored against labelled examples as those of a model are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Scored
from litebert.tasks.metrics.metrics import METRICS
from litebert.tasks.prediction_files.prediction_columns import PredictionReader
from litebert.tasks.prediction_files.prediction_rows import ExampleRows, read_prediction_rows
from litebert.tasks.prediction_files.shared_columns import validate_no_labels, warn_other_texts
from litebert.tasks.readers.conllu import CONLLU
from litebert.tasks.readers.tables import Table
from litebert.tasks.readers.text_files import format_ending
from litebert.tasks.results import PROBABILITIES
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import TaskType

NO_LENGTHS = np.array([])
"""Lengths are counted in the tokens of a model, so predictions of a file are not scored by length."""


@dataclass(frozen=True)
class FilePredictions:
    """The predictions of a file, one for each example."""

    path: Path
    task_type: TaskType
    predictions: Sequence[Any]
    has_probabilities: bool

    @classmethod
    def read(
        cls, path: Path, data: LabelledData, *, label: str, table: Table | None, texts: Sequence[str] = ()
    ) -> Self:
        """The predictions of a file for `data`; DataError with file, line and field where it is invalid.

        Args:
            path: the prediction file.
            data: the labelled examples.
            label: the column of the labels, where CoNLL-U files have the predicted ones.
            table: all rows of the file of the examples; None if it is no table.
            texts: the columns of the texts of the examples.
        """
        task_type = get_task_type(data.task_type)
        reader = _reader_of(task_type, path)
        if path.resolve() == data.path.resolve():
            raise ConfigError(f"{path}: is also the file of the labelled examples; give a file with predictions for it")
        examples = ExampleRows.of(data, table)
        rows = examples.order(reader.rows(read_prediction_rows(path)))
        is_conllu = format_ending(path) == CONLLU
        column = label if is_conllu else reader.column(rows)
        if table is not None:
            labelled = replace(table, rows=tuple(table.rows[position] for position in examples.positions))
            warn_other_texts(rows, labelled, texts)
            if not is_conllu:
                validate_no_labels(rows, column, labelled, label)
        has_probabilities = reader.reads_probabilities and PROBABILITIES in rows.columns
        return cls(path, task_type, reader.read(rows, column, data), has_probabilities)

    def unscored(self, metrics: Sequence[str]) -> tuple[str, ...]:
        """Those of `metrics` that need probabilities, which the file lacks."""
        return tuple(name for name in metrics if METRICS[name].takes_probabilities and not self.has_probabilities)

    @property
    def lacks_calibration(self) -> bool:
        """Whether the scores have no calibration, although those of a model have one."""
        return self.task_type.predicts_one_class and not self.has_probabilities

    def score(self, task: Task, data: LabelledData) -> Scored:
        """The predictions evaluated; the metrics of `task` need no probabilities that the file lacks."""
        reader = _reader_of(self.task_type, self.path)
        if reader.evaluate is not None:
            return reader.evaluate(task, self.predictions, data)
        scored = self.task_type.evaluate(task, self.predictions, data, NO_LENGTHS, None)
        if self.has_probabilities:
            return scored
        return replace(scored, probabilities=None, evaluation=replace(scored.evaluation, calibration=None))


def without_unscored(task: Task, files: Sequence[FilePredictions]) -> tuple[Task, tuple[str, ...]]:
    """The task with the metrics that all files can be scored in, and the names of the others.

    ConfigError if no metric is left.
    """
    left_out = tuple(dict.fromkeys(name for file in files for name in file.unscored(task.metrics)))
    metrics = tuple(name for name in task.metrics if name not in left_out)
    if not metrics:
        without = next(file.path for file in files if not file.has_probabilities)
        raise ConfigError(
            f"metrics: {', '.join(task.metrics)} need probabilities; add a column {PROBABILITIES!r} to {without}, or "
            "name another metric"
        )
    return replace(task, metrics=metrics, metric_for_best_model=metrics[0]), left_out


def left_out_note(left_out: Sequence[str]) -> list[str]:
    """A line for people about the metrics that `without_unscored` left out; none without any."""
    names = ", ".join(left_out)
    return [f"left out: {names} (a prediction file has no column {PROBABILITIES!r})"] if left_out else []


def _reader_of(task_type: TaskType, path: Path) -> PredictionReader:
    if task_type.predictions is None:
        raise ConfigError(f"{path}: the task type {task_type.name!r} reads no prediction files; give a model")
    return task_type.predictions
