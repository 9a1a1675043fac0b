"""Rows of CSV, TSV and JSONL files with named columns. Before: a file. After: `delimited` (labels), `runs.predict`.

Every error names file, line and field. TSV has no quoting, as in GLUE; CSV quotes as spreadsheets do.
"""

import csv
import difflib
import io
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litebert.errors import DataError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """One record; `line` is the line of the file, from 1, on which it begins."""

    line: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A whole file: the names of its columns and its rows, at least one."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def texts(self, column: str, *, lists: bool = False) -> list[str]:
        """A column as texts: numbers of a JSONL file as they are written there, null as the empty text.

        A list is an error, or with `lists` its JSON.
        """
        self.require(column)
        return [_as_text(self.path, row, column, lists=lists) for row in self.rows]

    def require(self, column: str) -> None:
        """DataError unless there is such a column."""
        if column not in self.columns:
            known = ", ".join(repr(name) for name in self.columns)
            raise DataError(
                f"{self.path}: no column {column!r}{did_you_mean(column, self.columns)}; it has {known}; "
                "name the column (--text, --label, …), or the columns in the first line"
            )


def read_table(path: Path) -> Table:
    """The rows of a `.csv`, `.tsv` or `.jsonl` file; DataError when anything is not as it should be."""
    readers = {".csv": _read_csv, ".tsv": read_tsv, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise DataError(f"{path}: cannot tell the format from {path.suffix!r}; name the file .csv, .tsv or .jsonl")
    table = readers[path.suffix](path, read_text(path))
    if not table.rows:
        raise DataError(f"{path}: no rows below the names of the columns; give a file with at least one row")
    return table


def read_text(path: Path) -> str:
    """The text of a UTF-8 file without byte order mark; line ends as they are."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); give the path of a file") from None
    if not content.strip():
        raise DataError(f"{path}: the file is empty")
    if b"\0" in content:
        raise DataError(f"{path}: binary or UTF-16 (a zero byte at offset {content.index(0)}); save it as UTF-8 text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = content[error.start]
        raise DataError(f"{path}:{line}: not UTF-8 (byte 0x{found:02x}); save the file as UTF-8") from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' (did you mean …?)' when something known looks like `name`, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def lines_of(text: str) -> list[str]:
    """The lines of a text ended by LF or CRLF; blank lines at the end of the file are no lines.

    Not `str.splitlines`, which also cuts at characters that occur inside texts (U+0085, U+2028).
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read_tsv(path: Path, text: str, *, columns: Sequence[str] | None = None, skip_misfits: bool = False) -> Table:
    """The rows of a text with tabs.

    Args:
        path: for messages.
        text: the content.
        columns: names of the columns, where the first line does not hold them.
        skip_misfits: leave rows with too few or too many fields out, and say so, instead of refusing the file.
    """
    lines = [(number, line.split("\t")) for number, line in enumerate(lines_of(text), start=1)]
    names = columns or [name.strip() for name in lines.pop(0)[1]]
    if skip_misfits:
        misfits = [number for number, fields in lines if len(fields) != len(names)]
        if misfits:
            shown = ", ".join(map(str, misfits[:10]))
            logger.warning("%s: %d rows without %d fields are left out, at %s", path, len(misfits), len(names), shown)
        lines = [(number, fields) for number, fields in lines if len(fields) == len(names)]
    return _delimited(path, iter([(1, list(names)), *lines]))


def _read_csv(path: Path, text: str) -> Table:
    first = lines_of(text)[0]
    other = next((sign for sign in ";\t" if sign in first and "," not in first), None)
    if other is not None:
        raise DataError(f"{path}:1: holds {other!r} and no comma; save the file with commas, or with tabs as .tsv")
    return _delimited(path, _csv_records(path, text.rstrip("\r\n") + "\n"))


def _csv_records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line on which each record begins, and its fields; a quoted field may hold line ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{line}: not valid CSV ({error}); quote fields that hold quotes or line ends") from None


def _delimited(path: Path, records: Iterator[tuple[int, list[str]]]) -> Table:
    columns = _checked_columns(path, [name.strip() for name in next(records)[1]])
    rows = [Row(line, _by_column(path, line, fields, columns)) for line, fields in records]
    return Table(path, columns, tuple(rows))


def _checked_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    if not any(names):
        raise DataError(f"{path}:1: the first line is blank; it must name the columns")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}:1: the column {name!r} is named {names.count(name)} times; name each column once")
    return tuple(names)


def _by_column(path: Path, line: int, fields: list[str], columns: tuple[str, ...]) -> dict[str, str]:
    if len(fields) < len(columns):
        missing = columns[len(fields)]
        raise DataError(f"{path}:{line}: {len(fields)} fields, expected {len(columns)}; {missing!r} is missing")
    if len(fields) > len(columns):
        first = fields[len(columns)][:40]
        raise DataError(f"{path}:{line}: {len(fields)} fields, expected {len(columns)}; too many from {first!r} on")
    return dict(zip(columns, fields, strict=True))


def _read_jsonl(path: Path, text: str) -> Table:
    rows = [Row(line, _json_object(path, line, content)) for line, content in enumerate(lines_of(text), start=1)]
    return Table(path, tuple(rows[0].values), tuple(rows))


def _json_object(path: Path, line: int, content: str) -> dict[str, Any]:
    if not content.strip():
        raise DataError(f"{path}:{line}: a blank line; remove it")
    try:
        value = json.loads(content, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}:{line}: not valid JSON ({error}); write one JSON object a line") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}:{line}: expected a JSON object, found {type(value).__name__}")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is given {names.count(twice)} times")
    return dict(pairs)


def _as_text(path: Path, row: Row, column: str, *, lists: bool) -> str:
    where = f"{path}:{row.line}: field {column!r}"
    if column not in row.values:
        raise DataError(f"{where}: missing{did_you_mean(column, row.values)}; give every row the same fields")
    value = row.values[column]
    if isinstance(value, dict) or (isinstance(value, list) and not lists):
        raise DataError(f"{where}: expected a text or a number, found {type(value).__name__}")
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{where}: holds half of a surrogate pair; write whole characters") from None
    return text
