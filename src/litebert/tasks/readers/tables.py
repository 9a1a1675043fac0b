"""Tables with named columns: CSV, TSV, JSON lines, Parquet and CoNLL-U, read lazily, and data sets of the hub.

Every error names file, line (of Parquet: row) and field. TSV has no quoting, as in GLUE; CSV quotes as spreadsheets do.
Blank lines after the first are no rows of either, as for Python's csv module and pandas.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError, did_you_mean, import_extra
from litebert.tasks.readers.conllu import CONLLU, iter_sentences
from litebert.tasks.readers.csv_files import CSV, csv_records
from litebert.tasks.readers.text_files import format_ending, iter_lines

logger = logging.getLogger(__name__)

JSON_LINES: Final = ".jsonl"
_PARQUET_ROWS: Final = 1024
"""Rows of a Parquet file that are in memory at once."""
_FORMATS: Final = "a .csv, .tsv or .jsonl file, also compressed (.csv.gz), or a .parquet file"
_EXCEL: Final = "save it as .csv, or read it with pandas and give the data frame to litebert.finetune(train=frame)"
_TEXTS: Final = (
    f"it has texts without columns: give {_FORMATS}, or in Python the list of its lines; name columns of CoNLL .conll"
)
_ADVICE: Final = {**dict.fromkeys((".xlsx", ".xls", ".ods"), _EXCEL), ".txt": _TEXTS}
"""Ending of a format that is not read → what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record; `line` is its first line in the file, from 1, or its number in a format without lines."""

    line: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a file, at least one, and the names of its columns."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def texts(self, column: str, *, lists: bool = False) -> list[str]:
        """The values of a column as texts: numbers of JSON lines as written, null as the empty text.

        A list is an error, or its JSON with `lists`.
        """
        self.require(column)
        return [_as_text(self.path, row, column, lists=lists) for row in self.rows]

    def unique_texts(self, column: str, *, advice: str) -> list[str]:
        """The values of a column of ids; DataError, which ends with `advice`, where one occurs twice."""
        values, lines = self.texts(column), dict[str, int]()
        for row, value in zip(self.rows, values, strict=True):
            if lines.setdefault(value, row.line) != row.line:
                raise DataError(
                    f"{self.path}:{row.line}: field {column!r}: the id {value!r} is also that of line {lines[value]}; "
                    f"{advice}"
                )
        return values

    def require(self, column: str) -> None:
        """DataError unless there is such a column."""
        if column not in self.columns:
            known = ", ".join(repr(name) for name in self.columns)
            if any(";" in name for name in self.columns):
                known += " (a comma in the first line was taken for the separator: quote the name that has it)"
            raise DataError(
                f"{self.path}: no column {column!r}{did_you_mean(column, self.columns)}; it has {known}; "
                "name the column (--text, --label, …), or write the names of the columns in the first line"
            )


Records = tuple[tuple[str, ...], Iterator[Row]]
"""The names of the columns, and the rows."""


def read_table(path: Path) -> Table:
    """All rows of a file in one of `TABLE_ENDINGS`; DataError where it is invalid.

    JSON lines have the columns of all rows, and null where a row lacks one.
    """
    columns, rows = open_table(path)
    table = Table(path, columns, tuple(rows))
    return _with_all_columns(table) if format_ending(path) == JSON_LINES else table


def _with_all_columns(table: Table) -> Table:
    records = with_all_columns([row.values for row in table.rows])
    rows = tuple(Row(row.line, values) for row, values in zip(table.rows, records, strict=True))
    return Table(table.path, tuple(records[0]), rows)


def with_all_columns(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records with the columns of all of them, in the order of their first appearance; a missing value is null."""
    names = dict.fromkeys(name for record in records for name in record)
    return [
        record if record.keys() == names.keys() else {name: record.get(name) for name in names} for record in records
    ]


def iter_tables(path: Path, *, rows_per_table: int, skip_rows: int = 0) -> Iterator[Table]:
    """The rows of a file after the first `skip_rows`, in tables of `rows_per_table` rows, read lazily.

    The columns are those of the first row of the file: `refuse_late_columns` finds others that JSON lines may have.
    """
    columns, rows = open_table(path)
    rows = islice(rows, skip_rows, None)
    while part := tuple(islice(rows, rows_per_table)):
        yield Table(path, columns, part)


def refuse_late_columns(table: Table, is_read: Callable[[str], bool]) -> None:
    """DataError for a row with a column that the first row lacks, if `is_read` says that it would be read there."""
    known = set(table.columns)
    for row in table.rows:
        for column in row.values.keys() - known:
            if is_read(column):
                raise DataError(
                    f"{table.path}:{row.line}: field {column!r}: the first row has no such field, so that it would not "
                    "be read; give every row the same fields (null where one has no value)"
                )


def open_table(path: Path) -> Records:
    """The names of the columns and an iterator over the rows, at least one."""
    if path.is_dir():
        raise DataError(f"{path}: is a directory; give {_FORMATS}, or the name of a benchmark too")
    if not path.exists():
        raise DataError(f"{path}: no such file; check the path")
    ending = format_ending(path)
    if ending not in _READERS:
        raise DataError(f"{path}: unknown format {ending!r}; {_ADVICE.get(ending, f'give {_FORMATS}')}")
    columns, rows = _READERS[ending](path)
    return columns, _at_least_one(path, rows)


def _at_least_one(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    row = next(rows, None)
    if row is None:
        raise DataError(f"{path}: no rows after the names of the columns; give a file with at least one row")
    yield row
    yield from rows


def open_tsv(path: Path, *, columns: Sequence[str] | None = None, skip_misfits: bool = False) -> Records:
    """The rows of a file with tabs.

    Args:
        path: the file.
        columns: names of the columns, where the first line does not have them.
        skip_misfits: skip rows with too few or too many fields, with a warning, instead of raising DataError.
    """
    lines = ((number, line.split("\t")) for number, line in enumerate(iter_lines(path), start=1))
    names = columns or [name.strip() for name in next(lines)[1]]
    lines = ((number, fields) for number, fields in lines if fields != [""])
    if skip_misfits:
        lines = _without_misfits(path, lines, width=len(names))
    return _with_columns(path, names, lines)


def read_tsv(path: Path, *, columns: Sequence[str] | None = None, skip_misfits: bool = False) -> Table:
    """All rows of a file with tabs, as `open_tsv` reads them."""
    names, rows = open_tsv(path, columns=columns, skip_misfits=skip_misfits)
    return Table(path, names, tuple(rows))


def _without_misfits(
    path: Path, lines: Iterator[tuple[int, list[str]]], *, width: int
) -> Iterator[tuple[int, list[str]]]:
    misfits = []
    for number, fields in lines:
        if len(fields) == width:
            yield number, fields
        else:
            misfits.append(number)
    if misfits:
        shown = ", ".join(map(str, misfits[:10]))
        logger.warning("%s: skipped %d rows without %d fields, at lines %s", path, len(misfits), width, shown)


def _open_csv(path: Path) -> Records:
    records = csv_records(path)
    names = [name.strip() for name in next(records)[1]]
    return _with_columns(path, names, ((line, fields) for line, fields in records if fields))


def _with_columns(path: Path, names: Sequence[str], records: Iterator[tuple[int, list[str]]]) -> Records:
    columns = _checked_columns(path, names)
    return columns, (Row(line, _by_column(path, line, fields, columns)) for line, fields in records)


def _checked_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    if not any(names):
        raise DataError(f"{path}:1: the first line is blank; it must name the columns")
    return _unique_columns(f"{path}:1", names)


def _unique_columns(where: str, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where}: the column {name!r} is named {names.count(name)} times; name each column once")
    return tuple(names)


def _by_column(path: Path, line: int, fields: list[str], columns: tuple[str, ...]) -> dict[str, str]:
    if len(fields) < len(columns):
        missing = columns[len(fields)]
        raise DataError(f"{path}:{line}: {len(fields)} fields, expected {len(columns)}; {missing!r} is missing")
    if len(fields) > len(columns):
        first = fields[len(columns)][:40]
        raise DataError(f"{path}:{line}: {len(fields)} fields, expected {len(columns)}; too many from {first!r} on")
    return dict(zip(columns, fields, strict=True))


def _open_jsonl(path: Path) -> Records:
    return _with_first_columns(
        Row(line, _json_object(path, line, content)) for line, content in enumerate(iter_lines(path), start=1)
    )


def _open_conllu(path: Path) -> Records:
    return _with_first_columns(Row(line, dict(sentence)) for line, sentence in iter_sentences(path))


def _with_first_columns(rows: Iterator[Row]) -> Records:
    """The names are those of the first row."""
    first = next(rows)
    return tuple(first.values), chain([first], rows)


def _json_object(path: Path, line: int, content: str) -> dict[str, Any]:
    if not content.strip():
        raise DataError(f"{path}:{line}: a blank line; remove it")
    try:
        value = json.loads(content, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}:{line}: not valid JSON ({error}); write one JSON object a line") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}:{line}: expected a JSON object, found {type(value).__name__}")
    for column, field in value.items():
        # The file is UTF-8, so only an escape can be half of a surrogate pair.
        if "\\u" in content and not _is_unicode(column, field):
            raise DataError(f"{path}:{line}: field {column!r}: has half of a surrogate pair; write valid Unicode")
    return value


def _is_unicode(*values: Any) -> bool:
    try:
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a JSON object; ValueError where one is given twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is given {names.count(twice)} times")
    return dict(pairs)


def _open_parquet(path: Path) -> Records:
    with _parquet_file(path) as file:
        columns = _unique_columns(str(path), file.schema_arrow.names)
    return columns, _parquet_rows(path)


def _parquet_rows(path: Path) -> Iterator[Row]:
    with _parquet_file(path) as file:
        batches = file.iter_batches(batch_size=_PARQUET_ROWS)
        records = chain.from_iterable(batch.to_pylist(maps_as_pydicts="strict") for batch in batches)
        for number, record in enumerate(records, start=1):
            yield Row(number, record)


@contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    arrow = import_extra("pyarrow", extra="data", needed_for=f"{path}: reading Parquet")
    from pyarrow import parquet  # pyrefly: ignore[missing-import]

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError, KeyError) as error:  # KeyError: a map has a key twice
        raise DataError(f"{path}: not a readable Parquet file ({error}); get a new copy") from None


_READERS: Final[dict[str, Callable[[Path], Records]]] = {
    CSV: _open_csv,
    ".tsv": open_tsv,
    JSON_LINES: _open_jsonl,
    ".parquet": _open_parquet,
    CONLLU: _open_conllu,
}
TABLE_ENDINGS: Final = tuple(_READERS)
"""Endings of the files with named columns."""


def _as_text(path: Path, row: Row, column: str, *, lists: bool) -> str:
    where = f"{path}:{row.line}: field {column!r}"
    if column not in row.values:
        raise DataError(f"{where}: missing{did_you_mean(column, row.values)}; give every row the same fields")
    value = row.values[column]
    if isinstance(value, dict | bytes) or (isinstance(value, list) and not lists):
        raise DataError(f"{where}: expected a text or a number, found {type(value).__name__}")
    is_missing = value is None or value != value  # NaN stands for a missing value in JSON lines and Parquet
    text = value if isinstance(value, str) else "" if is_missing else json_text(value)
    if not _is_unicode(text):
        raise DataError(f"{where}: has half of a surrogate pair; write valid Unicode")
    return text


def json_text(value: Any) -> str:
    """Of values that JSON does not have, such as the dates of Parquet, Python's text."""
    return json.dumps(value, default=str) if isinstance(value, bool | int | float | list) else str(value)
