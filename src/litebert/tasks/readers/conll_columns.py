"""CoNLL columns: one word a line, a blank line between sentences.

Columns are separated by spaces or tabs; the word is the first and its label the last. `-DOCSTART-` lines are skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.tasks.readers.text_files import iter_lines

CONLL_SUFFIXES: Final = (".conll", ".bio", ".iob")
_DOCUMENT: Final = "-DOCSTART-"


@dataclass(frozen=True, slots=True)
class Line:
    """A word and its other columns."""

    number: int
    """Line of the file, from 1."""
    columns: tuple[str, ...]


def iter_sentences(path: Path, *, min_columns: int = 1) -> Iterator[list[Line]]:
    """The sentences of a file, whose lines have equally many columns; DataError with file and line."""
    sentence: list[Line] = []
    num_columns, found = 0, False
    for number, text in enumerate(chain(iter_lines(path), [""]), start=1):
        fields = conll_fields(text)
        if not fields:
            if sentence:
                yield sentence
                found = True
            sentence = []
            continue
        num_columns = num_columns or len(fields)
        if len(fields) != num_columns or num_columns < min_columns:
            expected = num_columns if num_columns >= min_columns else "a word and its label"
            raise DataError(f"{path}:{number}: {len(fields)} columns, expected {expected}; write one word a line")
        if not fields[0] or not fields[-1]:
            raise DataError(f"{path}:{number}: field 'tag': the word or its label is empty; fill it")
        sentence.append(Line(number, fields))
    if not found:
        raise DataError(f"{path}: no sentences; write lines of a word{' and its label' if min_columns > 1 else ''}")


def conll_fields(text: str) -> tuple[str, ...]:
    """The columns of a line; none for a line between sentences."""
    fields = text.split("\t") if "\t" in text else text.split()
    if not text.strip() or fields[0] == _DOCUMENT:
        return ()
    return tuple(field.strip() for field in fields)
