"""The labelled examples against which prediction files are scored."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from litebert.commands.prediction_files.prediction_arguments import ScoredArguments
from litebert.errors import ConfigError, DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.file_formats import format_of, validate_columns_apply
from litebert.tasks.labelled_data import LabelledData, Task, UnlabelledRows
from litebert.tasks.prediction_files.prediction_columns import labels_of_probabilities
from litebert.tasks.prediction_files.prediction_rows import read_prediction_rows
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.hub_tables import read_any_table
from litebert.tasks.readers.tables import Table
from litebert.tasks.scored_predictions import FilePredictions
from litebert.tasks.task_of_data import task_for, task_of_benchmark
from litebert.tasks.types.task_type import ReadOptions

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoredExamples:
    """Labelled examples, the task that scores predictions for them, and where they are in their file."""

    data: LabelledData
    task: Task
    label: str
    """Column of the labels."""
    table: Table | None
    """All rows of the file; None for a benchmark and for formats without named columns."""

    @classmethod
    def of_file(
        cls,
        path: Path,
        columns: Columns,
        run: ScoredArguments,
        *,
        files: Sequence[Path],
        metrics: Sequence[str] = (),
        unlabelled_rows: UnlabelledRows = "error",
    ) -> Self:
        """The examples of a labelled file, which no model but the prediction files say how to read."""
        validate_columns_apply(columns, path)
        table = table_of(path, run.task_type)
        labels = run.label_names or next(filter(None, map(_labels_named_in, files)), None)
        options = ReadOptions(task_type=run.task_type, labels=labels, unlabelled_rows=unlabelled_rows)
        data = read_labelled(path, columns, options=options, default_pair=True, table=table)
        if run.label_names and data.labels is None:
            raise ConfigError(f"label_names: {path} is read as {data.task_type}, which has no labels; leave them out")
        return cls(data, task_for(data, columns, metrics), columns.label_name, table)

    @classmethod
    def of_split(cls, split: BenchmarkSplit, directory: Path, *, metrics: Sequence[str] = ()) -> Self:
        """The examples of a split of a benchmark."""
        data = split.read(directory)
        if not data.has_labels:
            raise DataError(f"{data.path}: has no labels, so there is nothing to score; give a split with labels")
        task = task_of_benchmark(benchmark_task(split.task), data, metrics)
        return cls(data, task, task.label, None)

    def predictions(self, file: Path) -> FilePredictions:
        """The predictions of a file for these examples."""
        return FilePredictions.read(file, self.data, label=self.label, table=self.table, texts=self.task.text)


def table_of(path: Path, task_type: str | None) -> Table | None:
    """All rows of a labelled file; None for a format without named columns."""
    return None if format_of(path, task_type) else read_any_table(path)


def _labels_named_in(file: Path) -> tuple[str, ...] | None:
    labels = labels_of_probabilities(read_prediction_rows(file))
    if labels:
        logger.info("%s: the labels are those of its probabilities: %s", file, ", ".join(labels))
    return labels
