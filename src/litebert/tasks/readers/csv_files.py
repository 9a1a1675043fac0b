"""CSV files: commas between the fields, or semicolons, as spreadsheets write them where the comma is a decimal sign."""

import csv
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.readers.text_files import check_text, format_ending, open_text

logger = logging.getLogger(__name__)

CSV: Final = ".csv"
COMMA: Final = ","
SEMICOLON: Final = ";"
LONGEST_FIELD: Final = 2**30
"""Of a CSV file, in characters; the default of Python's reader is 131,072."""
_QUOTED: Final = re.compile('"[^"]*("|$)')


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """First line and fields of each record, none of a blank line; a quoted field may contain line breaks."""
    check_text(path)
    return _records(path, delimiter_of(path))


def delimiter_of(path: Path) -> str:
    """The sign between the fields of a CSV file; a comma for other files.

    It is a semicolon where the first line has one and no comma, both outside quotes.
    """
    if format_ending(path) != CSV:
        return COMMA
    with open_text(path, newline="") as file:
        signs = _QUOTED.sub("", file.readline())
    if COMMA in signs:
        return COMMA
    if "\t" in signs:
        raise DataError(f"{path}:1: has tabs and no comma; save the file with commas or semicolons, or as .tsv")
    return SEMICOLON if SEMICOLON in signs else COMMA


def log_semicolons(path: Path) -> None:
    """Log that semicolons separate the columns of a file, if they do."""
    if delimiter_of(path) == SEMICOLON:
        logger.info("%s: semicolons separate the columns", path)


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    line = 1
    csv.field_size_limit(LONGEST_FIELD)
    with open_text(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            raise DataError(
                f"{path}:{line}: not valid CSV ({error}); quote fields with quotes or line breaks"
            ) from None
