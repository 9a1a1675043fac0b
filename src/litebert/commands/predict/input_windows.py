"""Input files of `predict` and `ensemble` as windows of examples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from litebert.commands.predict.predict_stream import ROWS_PER_WINDOW, Window
from litebert.errors import ConfigError
from litebert.tasks.output_formats import OutputFormat, RowFormat
from litebert.tasks.readers.columns import Columns, SavedTask, resolve_columns
from litebert.tasks.readers.tables import Row, Table, iter_lines, iter_tables
from litebert.tasks.types.task_type import FileFormat

ReadInputs = Callable[[Table, Columns], Sequence[Any]]


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
