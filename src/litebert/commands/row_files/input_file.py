"""Input files as windows of examples, and their predictions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from litebert.commands.row_files.resumable_output import (
    Window,
    WindowResults,
    Written,
    output_fingerprint,
    row_named,
    write_predictions,
)
from litebert.errors import ConfigError
from litebert.settings import InferencePrecision
from litebert.tasks.file_formats import format_of, types_with_format
from litebert.tasks.output_formats import OutputFormat, table_output, validate_not_input
from litebert.tasks.readers.columns import Columns, SavedTask, is_column_of_training, resolve_columns
from litebert.tasks.readers.csv_files import log_semicolons
from litebert.tasks.readers.tables import Row, Table, iter_tables, refuse_late_columns
from litebert.tasks.readers.text_files import format_ending, iter_lines
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.types.task_type import FileFormat, TaskType

ROWS_PER_WINDOW: Final = 4096
"""Rows that are in memory at once; a prediction does not depend on where a command was stopped."""

ReadInputs = Callable[[Table, Columns], Sequence[Any]]
WriteDirectory = Callable[[Path, Sequence[Any], Sequence[Any]], None]


def validate_output_directory(output: Path, suffix: str) -> None:
    """Raise ConfigError where predictions that are several files cannot be written."""
    if output.suffix or (output.exists() and not output.is_dir()):
        raise ConfigError(
            f"output: {output} is a file, but predictions for {suffix} files are several files; give a directory"
        )


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """An input file without labels, or whose labels are ignored."""

    path: Path
    read_inputs: ReadInputs
    """The examples of a table."""
    columns: Columns
    saved: SavedTask | None
    """The task of the model, for the columns that are not named."""
    file_format: FileFormat | None = None
    """The task type's format, if the file has no named columns."""
    finds_column: Callable[[str, Columns], bool] = lambda name, columns: False
    """As that of the task type's reader."""
    absent_label: str | None = None
    """The column of the labels that the first row lacks, where no row may have one."""

    @classmethod
    def of(cls, path: Path, task_type: TaskType, columns: Columns, *, model: Path) -> Self:
        """The file as a model of this task type reads it; ConfigError if that has no such format."""
        file_format = format_of(path, task_type.name)
        if file_format and task_type not in types_with_format(path):
            ending, advice = format_ending(path), file_format.other_data
            raise ConfigError(f"{path}: a model for {task_type.name} cannot read {ending} files; {advice}")
        return cls(
            path=path,
            read_inputs=task_type.reader.read_inputs,
            columns=columns,
            saved=SavedTask.stored(model),
            file_format=file_format,
            finds_column=task_type.reader.finds_column,
        )

    @property
    def write_directory(self) -> WriteDirectory | None:
        """Writes predictions where they are several files, as for SQuAD."""
        return None if self.file_format is None else self.file_format.write_directory

    def validate_output(self, output: Path) -> None:
        """Raise ConfigError for an output that cannot be written."""
        if self.write_directory is None:
            self.output_format(output)
        else:
            validate_output_directory(output, format_ending(self.path))

    def predict_into(
        self,
        output: Path,
        predict: Callable[[Sequence[Any]], WindowResults],
        *,
        result: type[DecodedPrediction],
        models: Sequence[Path],
        settings: Mapping[str, Any],
        precisions: Sequence[InferencePrecision],
        validate: Callable[[Sequence[Any]], None] = lambda examples: None,
    ) -> Written:
        """Write the predictions for the whole file; they depend on the content of `models` and on `settings`.

        `result` is the class of what is predicted; `precisions` are those of the models, which `settings` has too.

        The file is read once before the predictions, so that a row that is invalid, that the output cannot hold, or for
        which `validate` raises DataError, does not end the command after hours.
        """
        if self.write_directory is None:
            output_format = self.output_format(output)
            self._validate_rows(output_format, result, validate)
            return write_predictions(
                output,
                output_format,
                self.windows,
                predict,
                source=self.path,
                fingerprint=output_fingerprint(self.path, output, models, settings),
                precisions=precisions,
            )
        examples = [example for window in self.windows() for example in window.examples]
        predicted = predict(examples)
        self.write_directory(output, examples, predicted.results)
        return Written(len(predicted.results), dict(+predicted.counts))

    def _validate_rows(
        self, output_format: OutputFormat, result: type[DecodedPrediction], validate: Callable[[Sequence[Any]], None]
    ) -> None:
        for window in self.windows():
            with row_named(self.path, window):
                validate(window.examples)
            output_format.validate(window.rows, result)
        log_semicolons(self.path)

    def windows(self, skip: int = 0) -> Iterator[Window]:
        """The rows after the first `skip`, in windows."""
        if self.file_format is not None:
            examples = islice(self.file_format.iter_inputs(self.path), skip, None)
            while part := tuple(islice(examples, ROWS_PER_WINDOW)):
                yield Window(part, part)
            return
        columns = None
        for table in self._tables(skip):
            columns = columns or resolve_columns(self.columns, self.saved, table)
            refuse_late_columns(table, partial(self._is_read, columns=columns))
            yield Window(table.rows, self.read_inputs(table, columns))

    def _is_read(self, name: str, columns: Columns) -> bool:
        """Whether a column that is not among the resolved `columns` would be, if the first row had it."""
        return (
            name == self.absent_label
            or is_column_of_training(name, self.columns, self.saved)
            or self.finds_column(name, columns)
        )

    def output_format(self, output: Path) -> OutputFormat:
        """How predictions are written to the file `output`; ConfigError if it has a wrong ending or is the input."""
        validate_not_input(output, self.path)
        if self.file_format is not None and self.file_format.output_format is not None:
            return self.file_format.output_format(self.path, output)
        return table_output(self.path, output, label=self.saved.label if self.saved else None)

    def _tables(self, skip: int) -> Iterator[Table]:
        if format_ending(self.path) != ".txt":
            yield from iter_tables(self.path, rows_per_table=ROWS_PER_WINDOW, skip_rows=skip)
            return
        name = self.columns.text or "text"
        rows = (Row(number, {name: line}) for number, line in enumerate(iter_lines(self.path), start=1))
        rows = islice(rows, skip, None)
        while part := tuple(islice(rows, ROWS_PER_WINDOW)):
            yield Table(self.path, (name,), part)
