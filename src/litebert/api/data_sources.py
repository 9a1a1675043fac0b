"""Labelled data of a caller: paths, rows in memory, data frames and data sets, all as files or as tables.

Rows in memory are converted once, here; everything after this module reads tables.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError
from litebert.files import expand_home, sha256, write_text
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.readers.hub_tables import read_any_table, with_label_names
from litebert.tasks.readers.tables import Row, Table, json_text, with_all_columns

Data = Any
"""One of:

- the path of a file, or `hf:OWNER/NAME:SPLIT`;
- a list of rows, which are dicts, or a dict of columns;
- `(texts, labels)`, where a text may be a pair `(text, text_pair)`;
- a list, series or array of texts, or a list of pairs, where no labels are needed;
- a data frame of pandas or polars, a table of pyarrow, or a data set of `datasets`.

Values that JSON does not have, such as dates, become texts; bytes are an error.
"""
TEXT, TEXT_PAIR, LABEL = "text", "text_pair", "label"
_BYTES: Final = bytes | bytearray
_KEPT_IN_LISTS: Final = str | int | float | list | dict | _BYTES | None
MAX_NAME_BYTES: Final = 255
"""Of the name of a file, in nearly all file systems."""


@dataclass(frozen=True)
class DataSource:
    """A file, or rows in memory."""

    name: str
    """For error messages and file names."""
    path: Path | None
    rows: list[dict[str, Any]]
    """All with the same columns; a missing value is null."""
    text_pair: str | None = None
    """Column of the second texts of pairs that were given without names of columns."""

    @classmethod
    def of(cls, data: Data, name: str) -> "DataSource":
        """The source of any `Data`; DataError for anything else, for no rows and for bytes."""
        if isinstance(data, str | Path):
            data = expand_home(data)
            if not is_file(data) and not _exists(data):
                raise DataError(f"{name}: found the text {data!r:.80}; put it into a list, or give the path of a file")
            return cls(name, Path(data), [])
        given = list(rows_of(data, name))
        if not given:
            raise DataError(f"{name}: no rows; give at least one")
        rows = with_all_columns([_plain_row(row, f"{name}: row {number}") for number, row in enumerate(given, start=1)])
        return cls(name, None, rows, TEXT_PAIR if any(isinstance(row, PairRow) for row in given) else None)

    @cached_property
    def json_lines(self) -> str:
        """The rows as JSON lines."""
        return "".join(_json_line(row, f"{self.name}:{number}") for number, row in enumerate(self.rows, start=1))

    @cached_property
    def digest(self) -> str:
        """The path with a hash of the content of the file, or a hash of that of the rows."""
        if self.path:
            return f"{self.path} {sha256(self.path)}" if self.path.is_file() else str(self.path)
        return hashlib.sha256(self.json_lines.encode()).hexdigest()[:12]

    def to_file(self, directory: Path) -> Path:
        """The file itself, or the rows as a file in `directory` that is named by their content."""
        path = self.file_in(directory)
        if not self.path and not path.exists():
            write_text(path, self.json_lines)
        return path

    def file_in(self, directory: Path) -> Path:
        """The file that `to_file` returns."""
        return self.path or directory / f"{self.name}-{self.digest}.jsonl"

    def to_table(self) -> Table:
        """All rows with the names of their columns."""
        if self.path:
            return read_any_table(self.path)
        rows = tuple(Row(number, row) for number, row in enumerate(self.rows, start=1))
        return Table(Path(self.name), tuple(self.rows[0]), rows)


def _json_line(row: Mapping[str, Any], where: str) -> str:
    line = json.dumps(row, ensure_ascii=False, default=str) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError:
        raise DataError(f"{where}: has half of a surrogate pair; write valid Unicode") from None
    return line


def is_file(data: Data) -> bool:
    """Whether the data are a path or the name of a data set."""
    return isinstance(data, Path) or (isinstance(data, str) and (is_dataset_name(data) or _is_path(data)))


def _is_path(text: str) -> bool:
    """Whether the text ends like the name of a file, in a dot and letters, and no name in it is longer than may be."""
    path = Path(text)
    sizes = [len(part.encode("utf-8", "replace")) for part in path.parts]
    return path.suffix[1:].isalpha() and max(sizes) <= MAX_NAME_BYTES


def _exists(path: Path | str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # a text that is too long for a path
        return False


def rows_of(data: Data, name: str) -> Iterable[Mapping[str, Any]]:
    """The rows of data in memory, as dicts."""
    if hasattr(data, "to_dicts"):  # polars
        return data.to_dicts()
    if hasattr(data, "features") and hasattr(data, "column_names"):  # datasets; a stream may not know its features
        return [with_label_names(row, data.features) if data.features else row for row in data]
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        if not data.columns.is_unique:
            raise DataError(f"{name}: two columns have the same name; rename one ({', '.join(map(str, data.columns))})")
        return data.astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, Mapping):
        validate_columns(data, name)
        columns = map(_as_list, data.values())
        return [dict(zip(data, values, strict=True)) for values in zip(*columns, strict=True)]
    data = _as_list(data)
    if isinstance(data, tuple) and len(data) == 2 and _is_column(data[0]) and data[1] is None:
        raise DataError(f"{name}: found (texts, None); give (texts, labels), or the texts alone")
    if isinstance(data, tuple) and len(data) == 2 and all(map(_is_column, data)):
        texts, labels = (list(_as_list(part)) for part in data)
        if len(texts) != len(labels):
            raise DataError(f"{name}: {len(texts)} texts and {len(labels)} labels; give as many of both")
        rows = [text_row(text, name) for text in texts]
        for row, label in zip(rows, labels, strict=True):
            row[LABEL] = label
        return rows
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [row if isinstance(row, Mapping) else text_row(row, name) for row in data]
    raise DataError(
        f"{name}: found {type(data).__name__}; expected a path, rows, (texts, labels), a data frame or a data set"
    )


def _as_list(data: Any) -> Any:
    """A table or an array of pyarrow, a series of pandas or polars or an array of numpy as a list; others unchanged."""
    for conversion in ("to_pylist", "to_list", "tolist"):
        if hasattr(data, conversion):
            return getattr(data, conversion)()
    return data


def _is_column(part: Any) -> bool:
    return isinstance(part, Iterable) and not isinstance(part, str | Mapping)


def validate_columns(data: Mapping[str, Any], name: str) -> None:
    """Raise DataError for the splits of a data set, and for columns that are no lists or of different lengths."""
    if hasattr(data, "column_names"):  # DatasetDict
        raise DataError(
            f"{name}: found the splits {', '.join(data)}; give one of them, such as data[{next(iter(data))!r}]"
        )
    for column, values in data.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise DataError(
                f"{name}: column {column!r} is a {type(values).__name__}, expected a list with a value for each row"
            )
    lengths = {column: len(values) for column, values in data.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of {column!r}" for column, length in lengths.items())
        raise DataError(f"{name}: columns of different lengths ({found}); give a value for each row")


class PairRow(dict[str, Any]):
    """The row of a pair of texts that came without names of columns."""


def text_row(text: Any, name: str) -> dict[str, Any]:
    """The row of a text or of a pair of texts; a missing text is null, as in a data frame."""
    if _is_text(text):
        return {TEXT: text}
    if isinstance(text, Sequence) and len(text) == 2 and all(map(_is_text, text)):
        return PairRow({TEXT: text[0], TEXT_PAIR: text[1]})
    raise DataError(f"{name}: found a {type(text).__name__} among the rows; expected dicts, texts or pairs of texts")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or plain(value) is None


def _plain_row(row: Mapping[Any, Any], where: str) -> dict[str, Any]:
    values = {str(key): plain(value) for key, value in row.items()}
    for key, value in values.items():
        if any(isinstance(each, _BYTES) for each in (value if isinstance(value, list) else [value])):
            raise DataError(
                f"{where} (counted from 1): field {key!r}: expected a text or a number, found bytes; decode them, such "
                "as value.decode(), or leave the column out"
            )
    return values


def plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's, also in objects; a missing value of pandas as None; what JSON lacks in a
    list as a text.

    A set becomes a list in alphabetical order, so that the same rows have the same file.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, dict):  # the probability of each label
        return {(name if isinstance(name, str) else json_text(name)): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [each if isinstance(each, _KEPT_IN_LISTS) else str(each) for each in map(plain, value)]
    return value
