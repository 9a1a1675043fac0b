"""Words and their labels in the columns of a table."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from litebert.errors import DataError, did_you_mean
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.labelled_rows import require_labels
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.types.task_type import ReadOptions, ReadResult
from litebert.tasks.types.token_classification.token_examples import TokenExample

OUTSIDE: Final = "O"
"""Label of a word outside every entity."""


def guess_token_lists(table: Table, columns: Columns) -> str | None:
    """Why the rows are labelled words: both columns of the first row have lists."""
    first = table.rows[0].values
    if all(isinstance(first.get(name), list) for name in (columns.text_name, columns.label_name)):
        return f"the column {columns.text_name!r} holds lists of words"
    return None


def read_token_lists(table: Table, columns: Columns, options: ReadOptions) -> ReadResult:
    """The rows with their labels."""
    text, label = columns.text_name, columns.label_name
    table.texts(text, lists=True), table.texts(label, lists=True)  # raise for missing values
    require_labels(table, label)
    rows = [(_list(table, row, text), _list(table, row, label)) for row in table.rows]
    for row, (words, tags) in zip(table.rows, rows, strict=True):
        if len(words) != len(tags) or not words:
            raise DataError(f"{table.path}:{row.line}: field {label!r}: {len(tags)} labels for {len(words)} words")
    labels = tuple(options.labels or token_labels(tag for _, tags in rows for tag in tags))
    known = {name: index for index, name in enumerate(labels)}
    groups, slices = group_and_slice(table, columns)
    examples = []
    for row, (words, tags), group, slice_ in zip(table.rows, rows, groups, slices, strict=True):
        where = f"{table.path}:{row.line}: field {label!r}"
        target = tuple(label_index(tag, known, where=where) for tag in tags)
        examples.append(TokenExample(words=words, target=target, group=group, slice=slice_))
    return ReadResult(examples=examples, labels=labels, lines=[row.line for row in table.rows])


def read_words(table: Table, columns: Columns) -> list[TokenExample]:
    """The rows without labels: lists of words, or running texts, which may be empty."""
    column, examples = columns.text_name, []
    for row, text in zip(table.rows, table.texts(column, lists=True), strict=True):
        value = row.values[column]
        if isinstance(value, list) and not value:
            raise DataError(f"{table.path}:{row.line}: field {column!r}: has no words; remove the row")
        is_list = isinstance(value, list)
        examples.append(TokenExample(words=tuple(map(str, value))) if is_list else TokenExample.of_text(text))
    return examples


def token_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels, `O` first."""
    return tuple(sorted(set(labels), key=lambda label: (label != OUTSIDE, label)))


def label_index(label: str, known: Mapping[str, int], *, where: str) -> int:
    """The index of a label; DataError for an unknown one."""
    if label not in known:
        raise DataError(
            f"{where}: unknown label {label!r}{did_you_mean(label, known)}; the labels of training are "
            f"{', '.join(known)}"
        )
    return known[label]


def _list(table: Table, row: Row, column: str) -> tuple[str, ...]:
    value: Any = row.values[column]
    where = f"{table.path}:{row.line}: field {column!r}"
    if not isinstance(value, list):
        raise DataError(f"{where}: expected a list of non-empty texts, found {type(value).__name__}")
    for number, item in enumerate(value, start=1):
        if not isinstance(item, str) or not item.strip():
            raise DataError(f"{where}: expected a list of non-empty texts, but that of word {number} is {item!r}")
    return tuple(value)
