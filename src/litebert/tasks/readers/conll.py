"""Sentences whose words carry tags: CoNLL columns, or lists in JSON lines. Before: a file. After: `reading`.

CoNLL: a word a line with blanks or tabs between its columns, the word first and the tag last; a blank line ends a
sentence; `-DOCSTART-` lines are left out.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData, TaggedExample
from litebert.tasks.readers.data_checks import mention_repeats
from litebert.tasks.readers.tables import Row, Table, did_you_mean, lines_of, read_text

logger = logging.getLogger(__name__)

ENDINGS: Final = (".conll", ".bio", ".iob")
OUTSIDE: Final = "O"
"""Tag of a word that is part of nothing."""
_DOCUMENT: Final = "-DOCSTART-"


@dataclass(frozen=True, slots=True)
class Line:
    """A word in CoNLL columns."""

    number: int
    """Of its line, from 1."""
    columns: tuple[str, ...]
    """The word and what stands beside it."""


def read_conll(path: Path, *, labels: Sequence[str] | None = None) -> LabelledData:
    """The sentences of a CoNLL file. `labels` are those of the training file: another one is an error."""
    sentences = read_columns(path, least=2)
    names = tuple(labels) if labels else tag_names([line.columns[-1] for lines in sentences for line in lines])
    known = {name: index for index, name in enumerate(names)}
    examples = []
    for lines in sentences:
        tags = tuple(_index(line.columns[-1], known, where=f"{path}:{line.number}: field 'tag'") for line in lines)
        examples.append(TaggedExample(tuple(line.columns[0] for line in lines), tags))
    mention_repeats(path, examples, [lines[0].number for lines in sentences])
    logger.info("%s: %d sentences, a label for each word of %s (CoNLL columns)", path, len(examples), ", ".join(names))
    return LabelledData(path, "tokens", tuple(examples), names, "the file has CoNLL columns")


def read_columns(path: Path, *, least: int = 1) -> list[list[Line]]:
    """The sentences of a CoNLL file, whose lines have equally many columns, `least` of them; tags are no matter here.

    Raises DataError with file and line.
    """
    sentences = list(_sentences(path, least))
    if not sentences:
        raise DataError(f"{path}: no sentences; give lines of a word{' and its tag' if least > 1 else ''}")
    return sentences


def is_tagged(table: Table, text: str, label: str) -> bool:
    """Whether both columns of the first row hold lists."""
    return all(isinstance(table.rows[0].values.get(name), list) for name in (text, label))


def tagged_rows(
    table: Table,
    text: str,
    label: str,
    labels: Sequence[str] | None,
    groups: Sequence[str | None],
    slices: Sequence[str | None],
) -> tuple[tuple[TaggedExample, ...], tuple[str, ...]]:
    """Rows of JSON lines with a list of words and a list of as many tags."""
    table.texts(text, lists=True), table.texts(label, lists=True)
    rows = [(_list(table, row, text), _list(table, row, label)) for row in table.rows]
    for row, (words, tags) in zip(table.rows, rows, strict=True):
        if len(words) != len(tags) or not words:
            raise DataError(f"{table.path}:{row.line}: field {label!r}: {len(tags)} tags for {len(words)} words")
    names = tuple(labels) if labels else tag_names([tag for _, tags in rows for tag in tags])
    known = {name: index for index, name in enumerate(names)}
    examples = []
    for row, (words, tags), group, slice_ in zip(table.rows, rows, groups, slices, strict=True):
        where = f"{table.path}:{row.line}: field {label!r}"
        examples.append(TaggedExample(words, tuple(_index(tag, known, where=where) for tag in tags), group, slice_))
    return tuple(examples), names


def tag_names(tags: Sequence[str]) -> tuple[str, ...]:
    """Distinct tags, the one for nothing first."""
    return tuple(sorted(set(tags), key=lambda tag: (tag != OUTSIDE, tag)))


def _sentences(path: Path, least: int) -> Iterator[list[Line]]:
    lines: list[Line] = []
    columns = 0
    for number, text in enumerate([*lines_of(read_text(path)), ""], start=1):
        fields = text.split("\t") if "\t" in text else text.split()
        if not text.strip() or fields[0] == _DOCUMENT:
            if lines:
                yield lines
            lines = []
            continue
        columns = columns or len(fields)
        if len(fields) != columns or columns < least:
            expected = columns if columns >= least else "a word and its tag"
            raise DataError(f"{path}:{number}: {len(fields)} columns, expected {expected}; one word a line")
        line = Line(number, tuple(field.strip() for field in fields))
        if not line.columns[0] or not line.columns[-1]:
            raise DataError(f"{path}:{number}: field 'tag': the word or its tag is empty; fill it")
        lines.append(line)


def _list(table: Table, row: Row, column: str) -> tuple[str, ...]:
    value: Any = row.values[column]
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise DataError(f"{table.path}:{row.line}: field {column!r}: expected a list of texts, none of them empty")
    return tuple(value)


def _index(tag: str, known: dict[str, int], *, where: str) -> int:
    if tag not in known:
        raise DataError(
            f"{where}: unknown label {tag!r}{did_you_mean(tag, known)}; the labels of training are {', '.join(known)}"
        )
    return known[tag]
