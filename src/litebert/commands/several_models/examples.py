"""The examples that several models predict: those of a file, or of a benchmark's split."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from litebert.commands.benchmark_predictions import validate_benchmark_model
from litebert.commands.data_arguments import FileExamples, SplitExamples
from litebert.commands.row_files.input_file import InputFile
from litebert.commands.several_models.members import Member
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.file_formats import validate_columns_apply
from litebert.tasks.labelled_data import LabelledData, Task, UnlabelledRows
from litebert.tasks.read_labelled import read_labelled, rows_of
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.task_of_data import task_for, task_of_benchmark
from litebert.tasks.types.task_type import ReadOptions


@dataclass(frozen=True)
class Examples:
    """The examples, with the task that scores their predictions."""

    data: LabelledData
    task: Task | None
    """None without labels."""
    source: InputFile | None
    """The file; None for a benchmark."""
    split: BenchmarkSplit | None = None
    rows: Sequence[Any] = ()
    """Of the file, where the predictions are written beside them."""


def input_file(member: Member, given: FileExamples) -> InputFile:
    """A file of examples, as `member` read that of its training."""
    validate_columns_apply(given.columns, given.path)
    return InputFile.of(given.path, member.task_type, given.columns, model=member.directory)


def examples_of_file(
    member: Member, source: InputFile, *, metrics: Sequence[str] = (), unlabelled_rows: UnlabelledRows = "error"
) -> Examples:
    """The labelled examples of a file, with the labels of `member`."""
    labels = member.labels if member.task_type.has_labels else None
    options = ReadOptions(task_type=member.task_type.name, labels=labels, unlabelled_rows=unlabelled_rows)
    data = read_labelled(source.path, source.columns, saved=source.saved, options=options)
    return Examples(data, task_for(data, source.columns, tuple(metrics)), source)


def with_rows(examples: Examples, source: InputFile, output: Path, result: type[DecodedPrediction]) -> Examples:
    """`examples` with the rows of their file; OutputError for rows that `output` cannot hold beside a `result`."""
    if source.write_directory is not None:
        return examples
    if source.file_format is None and examples.data.lines is not None:
        rows = rows_of(examples.data)
    else:
        rows = [row for window in source.windows() for row in window.rows]
    source.output_format(output).validate(rows, result)
    return replace(examples, rows=rows)


def examples_of_split(member: Member, given: SplitExamples, *, metrics: Sequence[str] = ()) -> Examples:
    """The examples of a split, if `member` is a model for that benchmark."""
    split = given.split
    validate_benchmark_model(split.task, member.task_type.name, member.labels, model=member.path, numbers=True)
    data = split.read(given.directory)
    task = task_of_benchmark(benchmark_task(split.task), data, metrics) if data.has_labels else None
    return Examples(data, task, None, split)
