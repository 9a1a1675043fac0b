"""Input files of `predict` and `ensemble` as windows of examples."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

from litebert.commands.predict.predict_stream import (
    ROWS_PER_WINDOW,
    Window,
    Written,
    fingerprint_of,
    write_predictions,
)
from litebert.errors import ConfigError
from litebert.tasks.output_formats import OutputFormat, RowFormat
from litebert.tasks.read_labelled import types_with_format
from litebert.tasks.readers.columns import Columns, SavedTask, resolve_columns
from litebert.tasks.readers.tables import Row, Table, iter_lines, iter_tables
from litebert.tasks.types.task_type import FileFormat, Result, TaskType

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

    @classmethod
    def of(cls, path: Path, task_type: TaskType, columns: Columns, *, model: Path) -> Self:
        """The file as a model of this task type reads it; ConfigError if that has no such format."""
        has_format = bool(types_with_format(path))
        if has_format and task_type not in types_with_format(path):
            raise ConfigError(f"{path}: a model for {task_type.name} cannot read {path.suffix} files; give a table")
        return cls(
            path=path,
            read_inputs=task_type.reader.read_inputs,
            columns=columns,
            saved=SavedTask.stored(model),
            file_format=task_type.reader.file_format if has_format else None,
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
            validate_output_directory(output, self.path.suffix)

    def predict_into(
        self,
        output: Path,
        predict: Callable[[Sequence[Any]], Sequence[Result]],
        *,
        models: Sequence[Path],
        settings: Mapping[str, Any],
    ) -> Written:
        """Write the predictions for the whole file; they depend on the content of `models` and on `settings`."""
        if self.write_directory is None:
            fingerprint = fingerprint_of([self.path], models, {**settings, "output": output.name})
            return write_predictions(output, self.output_format(output), self.windows, predict, fingerprint=fingerprint)
        examples = [example for window in self.windows() for example in window.examples]
        results = predict(examples)
        self.write_directory(output, examples, results)
        return Written(len(results), dict(sum((Counter(result.counts) for result in results), Counter[str]())))

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
            yield Window(table.rows, self.read_inputs(table, columns))

    def output_format(self, output: Path) -> OutputFormat:
        """How predictions are written to the file `output`; ConfigError if it has a wrong ending or is the input."""
        if output.resolve() == self.path.resolve():
            raise ConfigError(f"output: {output} is the input; choose another file")
        if self.file_format is not None and self.file_format.output_format is not None:
            return self.file_format.output_format(self.path, output)
        return RowFormat(self.path, output)

    def _tables(self, skip: int) -> Iterator[Table]:
        if self.path.suffix != ".txt":
            yield from iter_tables(self.path, rows_per_table=ROWS_PER_WINDOW, skip_rows=skip)
            return
        name = self.columns.text or "text"
        rows = (Row(number, {name: line}) for number, line in enumerate(iter_lines(self.path), start=1))
        rows = islice(rows, skip, None)
        while part := tuple(islice(rows, ROWS_PER_WINDOW)):
            yield Table(self.path, (name,), part)
