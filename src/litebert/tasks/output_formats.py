"""Prediction files: JSON lines, CSV and TSV, or the lines of the input with labels, written in pieces."""

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from litebert.errors import ConfigError, DataError
from litebert.files import finite
from litebert.tasks.readers.conllu import CONLLU, with_label
from litebert.tasks.readers.csv_files import COMMA, CSV, delimiter_of
from litebert.tasks.readers.tables import Row
from litebert.tasks.readers.text_files import format_ending, iter_lines
from litebert.tasks.results import DecodedPrediction

Record = dict[str, Any]
SUFFIXES: Final = (".jsonl", ".csv", ".tsv")


class OutputError(DataError):
    """An output that cannot hold a row."""


class OutputFormat(ABC):
    """Renders predictions, window after window; `state` lets another process continue."""

    state: dict[str, Any]
    """JSON values that `render` depends on besides its arguments."""

    @abstractmethod
    def render(self, rows: Sequence[Any], results: Sequence[Any]) -> str | bytes:
        """The text or the bytes of the next predictions."""

    def finish(self) -> str:
        """The text after the last prediction."""
        return ""

    def validate(  # noqa: B027 - most formats hold every row
        self, rows: Sequence[Any], result: type[DecodedPrediction]
    ) -> None:
        """Raise OutputError where `render` cannot write one of `rows`.

        It is called for all rows in their order, before the first prediction; `result` is the class of the results.
        """


class TableFormat:
    """Records as the lines of a `.jsonl`, `.csv` or `.tsv` file.

    CSV and TSV have the fields as columns that are scalar in a record, one of the first call or one that `expect` was
    given. `.jsonl` keeps lists and objects too. Commas separate the columns of `.csv`, or semicolons if
    they do in the file `like`.
    """

    def __init__(self, output: Path, *, like: Path | None = None) -> None:
        validate_suffix(output, SUFFIXES)
        self.state: dict[str, Any] = {"columns": None, "lines": 0}
        self._output, self._like = output, like
        self._expected: dict[str, None] = {}

    def expect(self, record: Record) -> None:
        """The scalar fields of `record` are columns, though it may be a later one that has them first."""
        self._expected.update(dict.fromkeys(_scalar_fields(record)))

    def lines(self, records: Sequence[Record]) -> str:
        """The text of the next records, after a header in the first call."""
        if self._output.suffix == ".jsonl":
            # Values that JSON does not have, such as the dates of a data set of the hub, become texts.
            return "".join(
                json.dumps(finite(record), ensure_ascii=False, default=str, allow_nan=False) + "\n"
                for record in records
            )
        if self.state["columns"] is None and records:
            found = (name for record in records for name in _scalar_fields(record))
            self.state["columns"] = list(dict.fromkeys([*self._expected, *found]))
            return self._joined([self.state["columns"]]) + self.lines(records)
        return self._joined([[_as_text(record.get(name)) for name in self.state["columns"]] for record in records])

    def _joined(self, rows: Sequence[Sequence[str]]) -> str:
        if self._output.suffix == CSV:
            return csv_text(rows, delimiter=delimiter_of(self._like) if self._like else COMMA)
        for number, fields in enumerate(rows, start=self.state["lines"]):
            if any(map(_breaks_tsv, fields)):
                raise OutputError(
                    f"{self._output}: row {number} contains a tab or a line break, which .tsv cannot hold; "
                    "write .csv or .jsonl"
                )
        self.state["lines"] += len(rows)
        return "".join("\t".join(fields) + "\n" for fields in rows)


class RowFormat(OutputFormat):
    """Input rows with their predictions, as the lines of a table."""

    def __init__(self, input_file: Path, output: Path) -> None:
        self._input_file, self._ending = input_file, output.suffix
        self._nested = output.suffix == ".jsonl"
        self._table = TableFormat(output, like=input_file)
        self.state = self._table.state

    def validate(self, rows: Sequence[Row], result: type[DecodedPrediction]) -> None:
        """Raise OutputError where a row has a column that is written, or what .tsv cannot hold."""
        added = [name for name in result.columns if self._nested or name not in result.nested_columns]
        for row in rows:
            self._validate_names(row, added)
            self._table.expect(row.values)
            if self._ending == ".tsv":
                self._validate_fields(row)

    def render(self, rows: Sequence[Row], results: Sequence[Any]) -> str:
        """The rows with the records of their results; OutputError where a row has such a column already."""
        records = [result.to_record() if self._nested else result.to_table_row() for result in results]
        return self._table.lines([self._joined(*pair) for pair in zip(rows, records, strict=True)])

    def _joined(self, row: Row, record: Record) -> Record:
        self._validate_names(row, record)
        return {**row.values, **record}

    def _validate_names(self, row: Row, added: Collection[str]) -> None:
        for name in added:
            if name in row.values:
                raise OutputError(
                    f"{self._input_file}:{row.line}: column {name!r} is where the prediction is written; rename it"
                )

    def _validate_fields(self, row: Row) -> None:
        for name in _scalar_fields(row.values):
            if _breaks_tsv(name) or _breaks_tsv(_as_text(row.values[name])):
                raise OutputError(
                    f"{self._input_file}:{row.line}: column {name!r} contains a tab or a line break, which .tsv cannot "
                    "hold; write .csv or .jsonl"
                )


class LineOutput(OutputFormat):
    """The input's lines, those of words with the predicted label.

    Args:
        input_file: the file, with a word a line.
        with_label: (line, label) → the line with the label; None for a line without a word.
        end: text after the last line.
    """

    def __init__(self, input_file: Path, with_label: Callable[[str, str], str | None], *, end: str = "") -> None:
        self.state: dict[str, Any] = {"lines": 0}
        self._input_file, self._with_label, self._end = input_file, with_label, end
        self._lines: Iterator[str] | None = None

    def render(self, rows: Sequence[Any], results: Sequence[Any]) -> str:
        """The lines up to the last word of `results`."""
        return "".join(self._next(label) for result in results for label in result.labels)

    def finish(self) -> str:
        """The lines after the last word."""
        return "".join(f"{text}\n" for text in self._input()) + self._end

    def _next(self, label: str) -> str:
        """The lines up to the next word."""
        written: list[str] = []
        for text in self._input():
            self.state["lines"] += 1
            if (line := self._with_label(text, label)) is not None:
                return "".join([*written, line, "\n"])
            written.append(f"{text}\n")
        raise DataError(f"{self._input_file}: has changed while it was read; predict again")

    def _input(self) -> Iterator[str]:
        """The lines that are not written yet."""
        if self._lines is None:
            self._lines = iter_lines(self._input_file)
            for _ in range(self.state["lines"]):
                next(self._lines)
        return self._lines


def table_output(input_file: Path, output: Path, *, label: str | None) -> OutputFormat:
    """How predictions for the rows of a table are written to `output`; ConfigError if it has a wrong ending.

    `label` is the column of the labels of training, where CoNLL-U has the predicted ones.
    """
    if format_ending(input_file) != CONLLU:
        return RowFormat(input_file, output)
    validate_suffix(output, (CONLLU, ".jsonl"))
    if output.suffix == ".jsonl":
        return RowFormat(input_file, output)
    return LineOutput(input_file, partial(with_label, column=label), end="\n")


def csv_text(rows: Iterable[Sequence[Any]], *, delimiter: str = COMMA) -> str:
    """The lines of a CSV file.

    Rows with a carriage return are quoted: Python's writer leaves it bare, and readers take it for the end of the line.
    So are rows with commas between semicolons, because a comma in the first line would be taken for the delimiter.
    """
    buffer = io.StringIO()
    minimal = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    signs = "\r" if delimiter == COMMA else f"\r{COMMA}"
    for row in rows:
        needs_quotes = any(sign in field for field in row if isinstance(field, str) for sign in signs)
        (quoted if needs_quotes else minimal).writerow(row)
    return buffer.getvalue()


def validate_suffix(output: Path, suffixes: Sequence[str]) -> None:
    """Raise ConfigError unless the name of `output` ends in one of `suffixes`."""
    if output.suffix not in suffixes:
        raise ConfigError(f"output: {output.name!r} has none of the endings {', '.join(suffixes)}; rename it")


def validate_not_input(output: Path, *inputs: Path) -> None:
    """Raise ConfigError if writing `output` would replace one of the inputs, or a directory."""
    if output.is_dir():
        raise ConfigError(f"output: {output} is a directory; give a file")
    if output.resolve() in {path.resolve() for path in inputs}:
        raise ConfigError(f"output: {output} is the input; choose another file")


def _scalar_fields(record: Mapping[str, Any]) -> list[str]:
    return [name for name, value in record.items() if not isinstance(value, dict | list)]


def _breaks_tsv(field: str) -> bool:
    return any(sign in field for sign in "\t\n\r")


def _as_text(value: Any) -> str:
    """A value as labels and predictions have it: `true`, and lists as JSON."""
    if isinstance(value, bool | list | dict):
        return json.dumps(finite(value), ensure_ascii=False, default=str)
    return "" if finite(value) is None else str(value)
