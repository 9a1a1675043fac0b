"""Any labelled file → examples and a task; the suffix decides the format."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from litebert.errors import ConfigError, DataError
from litebert.hub_datasets import is_dataset_name
from litebert.settings import validate_not_given
from litebert.tasks.benchmarks.benchmarks import BenchmarkTask
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.metrics import check_metrics
from litebert.tasks.readers.columns import (
    Columns,
    SavedTask,
    log_columns,
    resolve_columns,
    validate_columns_read,
    validate_label_is_no_text,
    with_default_pair,
)
from litebert.tasks.readers.csv_files import log_semicolons
from litebert.tasks.readers.labelled_rows import log_skipped, without_blank_rows, without_unlabelled_rows
from litebert.tasks.readers.soft_labels import SoftLabels, refuse_soft_labels, soft_labels
from litebert.tasks.readers.splits import warn_duplicates, warn_labels
from litebert.tasks.readers.tables import Row, Table, hub_table, read_table
from litebert.tasks.readers.text_files import format_ending
from litebert.tasks.types.registry import get_task_type, task_types
from litebert.tasks.types.task_type import FileFormat, ReadOptions, ReadResult, TaskType

logger = logging.getLogger(__name__)

MAX_SHOWN_LABELS = 10


def read_labelled(
    path: Path,
    columns: Columns | None = None,
    *,
    saved: SavedTask | None = None,
    options: ReadOptions | None = None,
    default_pair: bool = False,
    table: Table | None = None,
) -> LabelledData:
    """The examples of a labelled file; DataError with file, line and field where it is invalid.

    ConfigError for a named column that the task type does not read.

    Args:
        path: CSV, TSV, JSON lines or Parquet, a file in a format of a task type, or `hf:…` for a data set of the hub.
        columns: the named columns.
        saved: the task of the model, whose columns replace those that are not named.
        options: the task type, by default guessed and logged; the labels; how invalid answers and rows without a label
            are treated.
        default_pair: whether a column `text_pair` is the second text, where none is named: in training.
        table: the rows, where they are in memory; `path` is their file, or their name.
    """
    options, pair = options or ReadOptions(), None
    if file_format := format_of(path, options.task_type):
        task_type, reason = _with_format(path, file_format, options)
        result = file_format.read(path, options)
    else:
        if table is None:
            table = read_any_table(path)
        log_semicolons(path)
        filled, named = without_blank_rows(table), columns or Columns()
        log_skipped(table, filled, "are blank")
        soft, is_set = soft_labels_of(filled, named, options), options.task_type is not None
        if soft:
            filled, options = soft.table, replace(options, task_type=soft.task_type)
        columns = resolve_columns(named, saved, filled)
        table, task_type, reason = rows_and_task_type(filled, columns, options)
        validate_columns_read(named, task_type.reader.input_columns, task_type.name)
        log_skipped(filled, table, "have no label")
        if task_type.reader.saves_columns:  # questions have columns of other names
            validate_label_is_no_text(columns, path)
        if default_pair and task_type.reader.reads_pairs:
            columns = with_default_pair(columns, table)
        if "options" not in task_type.reader.input_columns and task_type.reader.saves_columns:
            log_columns(columns, table)
        pair = columns.text_pair
        if soft:
            result = _read_soft_labels(table, soft, columns, options)
            reason = reason if is_set else soft.reason
        else:
            result = task_type.reader.read(table, columns, options)
    warn_duplicates(path, result.examples, result.lines)
    if options.labels is None:  # otherwise the labels are those of the training data
        warn_labels(path, result.labels or ())
    return replace(_data(path, result, task_type.name, result.reason or reason), text_pair=pair)


def soft_labels_of(table: Table, columns: Columns, options: ReadOptions) -> SoftLabels | None:
    """The soft labels of a table, where they are read; DataError for some where they are not."""
    if not options.soft_labels:
        refuse_soft_labels(table, columns.label_name)
        return None
    return soft_labels(table, text=columns.text_name, label=columns.label_name, task_type=options.task_type)


def _read_soft_labels(table: Table, soft: SoftLabels, columns: Columns, options: ReadOptions) -> ReadResult:
    """The examples of the rows in `table` with their soft labels."""
    labels = options.labels or soft.label_names()
    result = get_task_type(soft.task_type).reader.read(table, columns, replace(options, labels=labels))
    pairs = zip(result.examples, result.lines or (), strict=True)
    examples = [replace(each, soft_label=soft.of_line(line, labels)) for each, line in pairs]
    logger.info("%s: %d of %d rows have probabilities of labels", table.path, len(soft.by_line), len(examples))
    return replace(result, examples=examples)


def rows_and_task_type(table: Table, columns: Columns, options: ReadOptions) -> tuple[Table, TaskType, str]:
    """The rows of a table that are read, which `options` may ask to have a label; their task type, and why it is."""
    labelled = table
    if options.unlabelled_rows == "skip":
        labelled = without_unlabelled_rows(table, columns.label_name)
    try:
        task_type, reason = _guess(labelled, columns, options)
    except DataError:
        validate_label_is_no_text(columns, table.path)  # the cause, where texts look like labels
        raise
    return labelled if task_type.reader.needs_label else table, task_type, reason


def read_any_table(path: Path) -> Table:
    """All rows of a CSV, TSV, JSON lines or Parquet file, or of a data set of the hub."""
    return hub_table(path) if is_dataset_name(path) else read_table(path)


def task_for(data: LabelledData, columns: Columns, metrics: Sequence[str] = ()) -> Task:
    """The task of some data. Without `metrics`, those of its task type."""
    task_type = get_task_type(data.task_type)
    pair = columns.text_pair or data.text_pair
    names = tuple(metrics) or task_type.default_metrics(data.labels)
    check_metrics(names, applicable=task_type.all_metrics, num_labels=len(data.labels or ()))
    return Task(
        task_type=data.task_type,
        text=(columns.text_name, *([pair] if pair else [])),
        label=columns.label_name,
        options=columns.options,
        labels=data.labels,
        metrics=names,
        metric_for_best_model=names[0],
    )


def task_of_benchmark(benchmark: BenchmarkTask, data: LabelledData, metrics: Sequence[str] = ()) -> Task:
    """The task of a benchmark. Without `metrics`, those of its leaderboard."""
    columns = Columns(text=benchmark.text, text_pair=benchmark.text_pair, label=benchmark.label)
    return task_for(data, columns, metrics or benchmark.metrics)


def types_with_format(path: Path) -> list[TaskType]:
    """The task types that define the format of a file without named columns, such as `.json`."""
    formats = [(each, each.reader.file_format) for each in task_types()]
    return [each for each, file_format in formats if file_format and format_ending(path) in file_format.suffixes]


def format_of(path: Path, task_type: str | None = None) -> FileFormat | None:
    """The format of a file without named columns, that of `task_type` if several have one; None for a table."""
    formats = {each.name: each.reader.file_format for each in types_with_format(path)}
    return formats.get(task_type or "", next(iter(formats.values()), None))


def rows_of(data: LabelledData) -> list[Row]:
    """The rows of the table that the examples were read from; the others are blank or have no label."""
    assert data.lines is not None, "tables have lines"
    lines = set(data.lines)
    return [row for row in read_any_table(data.path).rows if row.line in lines]


def validate_columns_apply(columns: Columns, *files: Path) -> None:
    """Raise ConfigError where columns are named, but none of `files` has named columns."""
    if all(format_of(file) for file in files):
        validate_not_given(asdict(columns), f"a {format_ending(files[0])} file has no named columns; leave them out")


def _with_format(path: Path, file_format: FileFormat, options: ReadOptions) -> tuple[TaskType, str]:
    ending, fitting = format_ending(path), types_with_format(path)
    if options.task_type is None:
        return fitting[0], f"{ending} file"
    asked = get_task_type(options.task_type)
    if asked not in fitting:
        names = " or ".join(each.name for each in fitting)
        raise ConfigError(f"{path}: a {ending} file has {names} data, not {asked.name}; {file_format.other_data}")
    return asked, "as set"


def _guess(table: Table, columns: Columns, options: ReadOptions) -> tuple[TaskType, str]:
    if options.task_type is not None:
        return get_task_type(options.task_type), "as set"
    for task_type in task_types():
        if reason := task_type.reader.guess(table, columns):
            return task_type, reason
    raise ConfigError(f"{table.path}: fits no task type; set it (--task-type)")


def _data(path: Path, result: ReadResult, task_type: str, reason: str) -> LabelledData:
    name = result.task_type or task_type
    shown = name
    if result.labels is not None:
        labels = ", ".join(repr(label) for label in result.labels[:MAX_SHOWN_LABELS])
        more = ", …" if len(result.labels) > MAX_SHOWN_LABELS else ""
        shown = f"{name} with {len(result.labels)} labels: {labels}{more}"
    logger.info("%s: %d examples, %s (%s)", path, len(result.examples), shown, reason)
    lines = None if result.lines is None else tuple(result.lines)
    return LabelledData(path, name, tuple(result.examples), result.labels, reason, lines)
