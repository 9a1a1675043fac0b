"""A labelled file with named columns → examples, and what kind of task they are.

Before: `rows`, `label_columns`. After: `reading`.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from litebert.errors import DataError
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.labelled_data import Example, LabelledData, Target
from litebert.tasks.readers.answer_alignment import BadAnswers
from litebert.tasks.readers.choice_columns import choice_examples, option_columns
from litebert.tasks.readers.columns import ColumnNames, Columns, SavedColumns, resolve_columns
from litebert.tasks.readers.conll import is_tagged, tagged_rows
from litebert.tasks.readers.data_checks import mention_repeats
from litebert.tasks.readers.hub_tables import hub_table
from litebert.tasks.readers.label_columns import (
    NUMBER,
    SEPARATOR,
    filled,
    indices,
    label_lists,
    label_names,
    label_sets,
    scores,
)
from litebert.tasks.readers.question_tables import holds_questions, question_columns, question_rows
from litebert.tasks.readers.tables import Table, read_table
from litebert.tasks.task_type import Kind
from litebert.tasks.types.questions import as_labelled

logger = logging.getLogger(__name__)

MOST_INTEGER_CLASSES: Final = 20
"""More distinct whole numbers than this are guessed to be scores."""


def read_delimited(
    path: Path,
    columns: Columns,
    *,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
    kept: SavedColumns | None = None,
    invalid_answers: BadAnswers = "refuse",
) -> LabelledData:
    """The rows of a CSV, TSV or JSONL file, or of a table on the hub.

    `kind` None guesses from the columns and says so. `labels` are those of the training file: another one is an error;
    `kept` its columns, for those that are not named.
    Raises DataError with file, line and field.
    """
    table = hub_table(path) if is_dataset_name(path) else read_table(path)
    columns = resolve_columns(columns, kept, table)
    if kind in ("spans", "answerability") or (kind is None and holds_questions(table)):
        return _questions(table, columns, kind, invalid_answers)
    names = columns.names()
    kind, reason = (kind, "as asked") if kind else _guess_kind(table, names)
    examples, found = _READERS[kind](table, names, labels)
    mention_repeats(path, examples, [row.line for row in table.rows])
    logger.info("%s: %d rows, %s (%s)", path, len(examples), described(kind, found), reason)
    return LabelledData(path, kind, examples, found, reason)


def described(kind: Kind, names: Sequence[str] | None) -> str:
    """The kind and its labels, for a person."""
    if names is None:
        return kind.replace("_", " ")
    shown = ", ".join(repr(name) for name in names[:10])
    return f"{kind.replace('_', ' ')} with {len(names)} labels: {shown}{', …' if len(names) > 10 else ''}"


_Read = tuple[tuple[object, ...], tuple[str, ...] | None]


def _classification(table: Table, columns: ColumnNames, labels: Sequence[str] | None) -> _Read:
    values = filled(table, columns.label)
    names = tuple(labels) if labels else label_names(table, columns.label, values)
    return _examples(table, columns, indices(table, columns.label, values, names)), names


def _regression(table: Table, columns: ColumnNames, labels: Sequence[str] | None) -> _Read:
    return _examples(table, columns, scores(table, columns.label, filled(table, columns.label))), None


def _multi_label(table: Table, columns: ColumnNames, labels: Sequence[str] | None) -> _Read:
    lists = label_lists(table, columns.label)
    names = tuple(labels) if labels else label_names(table, columns.label, [name for given in lists for name in given])
    return _examples(table, columns, label_sets(table, columns.label, lists, names)), names


def _multiple_choice(table: Table, columns: ColumnNames, labels: Sequence[str] | None) -> _Read:
    options = columns.options or option_columns(table)
    extra = _extra(table, columns)
    return choice_examples(table, columns.text, columns.text_pair, options, columns.label, *extra), None


def _tokens(table: Table, columns: ColumnNames, labels: Sequence[str] | None) -> _Read:
    return tagged_rows(table, columns.text, columns.label, labels, *_extra(table, columns))


def _questions(table: Table, columns: Columns, kind: Kind | None, invalid_answers: BadAnswers) -> LabelledData:
    names = question_columns(table, columns)
    data = as_labelled(table.path, question_rows(table, names, invalid_answers=invalid_answers), kind)
    mention_repeats(table.path, data.examples)
    logger.info("%s: %d questions, %s (%s)", table.path, len(data.examples), described(data.kind, None), data.reason)
    return data


_READERS: Final = {
    "classification": _classification,
    "regression": _regression,
    "multi_label": _multi_label,
    "multiple_choice": _multiple_choice,
    "tokens": _tokens,
}


def _guess_kind(table: Table, columns: ColumnNames) -> tuple[Kind, str]:
    if columns.options or option_columns(table):
        return "multiple_choice", f"there are columns of options: {', '.join(columns.options or option_columns(table))}"
    if is_tagged(table, columns.text, columns.label):
        return "tokens", f"the column {columns.text!r} holds lists of words"
    label = columns.label
    texts = table.texts(label, lists=True)
    if any(isinstance(row.values[label], list) for row in table.rows):
        return "multi_label", f"the column {label!r} holds lists"
    if _looks_joined(texts):
        return "multi_label", f"the column {label!r} holds labels with {SEPARATOR!r} between them"
    return _guess_single(table, label, filled(table, label))


def _looks_joined(texts: Sequence[str]) -> bool:
    """Whether labels are joined by the separator: some parts must occur in other company or alone."""
    parts = Counter(part.strip() for text in texts for part in set(text.split(SEPARATOR)))
    return any(SEPARATOR in text and all(parts[part.strip()] > 1 for part in text.split(SEPARATOR)) for text in texts)


def _guess_single(table: Table, label: str, values: list[str]) -> tuple[Kind, str]:
    if not all(NUMBER.fullmatch(value) for value in values):
        _validate_labels(table, label, values)
        return "classification", f"the column {label!r} holds words"
    distinct = set(scores(table, label, values))
    if any(score != int(score) for score in distinct):
        return "regression", f"the column {label!r} holds fractions"
    if len(distinct) > MOST_INTEGER_CLASSES:
        return "regression", f"the column {label!r} holds {len(distinct)} different numbers"
    return "classification", f"the column {label!r} holds {len(distinct)} different whole numbers"


def _validate_labels(table: Table, label: str, values: list[str]) -> None:
    """Labels that hardly ever repeat are texts or identifiers of a column named by mistake."""
    distinct = len(set(values))
    if len(values) >= MOST_INTEGER_CLASSES and distinct > len(values) / 2:
        raise DataError(
            f"{table.path}: field {label!r}: {distinct} different labels in {len(values)} rows look like texts, not "
            f"labels; name another column (of {', '.join(map(repr, table.columns))}) or say the kind"
        )


def _examples(table: Table, columns: ColumnNames, targets: Sequence[Target]) -> tuple[Example, ...]:
    texts = table.texts(columns.text)
    pairs = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    _mention_empty_texts(table.path, texts)
    return tuple(map(Example, texts, pairs, targets, *_extra(table, columns)))


def _extra(table: Table, columns: ColumnNames) -> tuple[list[str] | list[None], ...]:
    """The columns of groups and of slices."""
    return tuple(table.texts(name) if name else [None] * len(table.rows) for name in (columns.group, columns.slice))


def _mention_empty_texts(path: Path, texts: list[str]) -> None:
    empty = sum(not text.strip() for text in texts)
    if empty:
        logger.warning("%s: %d rows have an empty text; they are kept", path, empty)
