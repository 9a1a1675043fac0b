"""Any labelled file → examples; the suffix decides the format."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from litebert.errors import ConfigError, DataError
from litebert.tasks.file_formats import format_of, task_type_of_format
from litebert.tasks.labelled_data import LabelledData
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
from litebert.tasks.readers.hub_tables import read_any_table
from litebert.tasks.readers.labelled_rows import log_skipped, without_blank_rows, without_unlabelled_rows
from litebert.tasks.readers.soft_labels import SoftLabels, refuse_soft_labels, soft_labels
from litebert.tasks.readers.splits import warn_duplicates, warn_labels
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.types.registry import get_task_type, task_types
from litebert.tasks.types.task_type import ReadOptions, ReadResult, TaskType

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
    options = options or ReadOptions()
    if file_format := format_of(path, options.task_type):
        task_type, reason = task_type_of_format(path, file_format, options.task_type)
        result, pair = file_format.read(path, options), None
    else:
        table = read_any_table(path) if table is None else table
        log_semicolons(path)
        rows = LabelledRows.of(table, columns or Columns(), saved=saved, options=options)
        rows.log_skipped(table)
        found = rows.checked_columns(columns or Columns(), default_pair=default_pair)
        task_type, reason, pair = rows.task_type, rows.reason, found.text_pair
        result = rows.read(found, options)
    warn_duplicates(path, result.examples, result.lines)
    if options.labels is None:  # otherwise the labels are those of the training data
        warn_labels(path, result.labels or ())
    return replace(_data(path, result, task_type.name, result.reason or reason), text_pair=pair)


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """The rows of a table that are read, and how."""

    table: Table
    """Those that are read: without blank rows, and where it is asked for without rows that have no label."""
    filled: Table
    """Those that are not blank."""
    columns: Columns
    task_type: TaskType
    reason: str
    """Why it is this task type."""
    soft: SoftLabels | None
    """Probabilities of labels, if the rows have them."""

    @classmethod
    def of(cls, table: Table, named: Columns, *, saved: SavedTask | None, options: ReadOptions) -> "LabelledRows":
        """The rows of a table with the named columns and those of `saved`; see `read_labelled`."""
        filled = without_blank_rows(table)
        is_set, soft = options.task_type is not None, _soft_labels(filled, named, options)
        if soft:
            filled, options = soft.table, replace(options, task_type=soft.task_type)
        columns = resolve_columns(named, saved, filled)
        rows, task_type, reason = _rows_and_task_type(filled, columns, options)
        return cls(rows, filled, columns, task_type, soft.reason if soft and not is_set else reason, soft)

    def log_skipped(self, table: Table) -> None:
        """Log how many of the rows of `table` are left out, and why."""
        log_skipped(table, self.filled, "are blank")
        log_skipped(self.filled, self.table, "have no label")

    def checked_columns(self, named: Columns, *, default_pair: bool) -> Columns:
        """The columns, logged; ConfigError for `named` ones that the task type does not read.

        With `default_pair` a column `text_pair` is the second text where none is named.
        """
        columns, reader = self.columns, self.task_type.reader
        validate_columns_read(named, reader.input_columns, self.task_type.name)
        if reader.saves_columns:  # questions have columns of other names
            validate_label_is_no_text(columns, self.table.path)
        if default_pair and reader.reads_pairs:
            columns = with_default_pair(columns, self.table)
        if "options" not in reader.input_columns and reader.saves_columns:
            log_columns(columns, self.table)
        return columns

    def read(self, columns: Columns, options: ReadOptions) -> ReadResult:
        """The examples of the rows, with their soft labels if they have any."""
        soft, reader = self.soft, self.task_type.reader
        if soft is None:
            return reader.read(self.table, columns, options)
        labels = options.labels or soft.label_names()
        result = reader.read(self.table, columns, replace(options, task_type=soft.task_type, labels=labels))
        pairs = zip(result.examples, result.lines or (), strict=True)
        examples = [replace(each, soft_label=soft.of_line(line, labels)) for each, line in pairs]
        logger.info("%s: %d of %d rows have probabilities of labels", self.table.path, len(soft.by_line), len(examples))
        return replace(result, examples=examples)


def rows_of(data: LabelledData) -> list[Row]:
    """The rows of the table that the examples were read from; the others are blank or have no label."""
    assert data.lines is not None, "tables have lines"
    lines = set(data.lines)
    return [row for row in read_any_table(data.path).rows if row.line in lines]


def _soft_labels(table: Table, columns: Columns, options: ReadOptions) -> SoftLabels | None:
    """The soft labels of a table, where they are read; DataError for some where they are not."""
    if not options.soft_labels:
        refuse_soft_labels(table, columns.label_name)
        return None
    return soft_labels(table, text=columns.text_name, label=columns.label_name, task_type=options.task_type)


def _rows_and_task_type(table: Table, columns: Columns, options: ReadOptions) -> tuple[Table, TaskType, str]:
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
