"""Multiple choice in named columns: a text, a question, options, the right one. Before: `rows`. After: `delimited`."""

import re
from collections.abc import Sequence
from typing import Final

from litebert.errors import DataError
from litebert.tasks.labelled_data import LETTERS, ChoiceExample
from litebert.tasks.readers.tables import Row, Table

FEWEST: Final = 2
_NUMBERED: Final = re.compile(r"(option|choice|answer|ending)[ _]?(\d|[a-e])", re.IGNORECASE)
_LISTS: Final = ("options", "choices", "endings")


def option_columns(table: Table) -> tuple[str, ...]:
    """Columns that by their names hold options: `option1`, `choice_b`, …, or one called `options` that holds lists."""
    numbered = tuple(name for name in table.columns if _NUMBERED.fullmatch(name))
    lists = tuple(name for name in _LISTS if isinstance(table.rows[0].values.get(name), list))
    return numbered if len(numbered) >= FEWEST else lists[:1]


def choice_examples(
    table: Table,
    text: str,
    question: str | None,
    options: Sequence[str],
    label: str,
    groups: Sequence[str | None],
    slices: Sequence[str | None],
) -> tuple[ChoiceExample, ...]:
    """The rows as choices; raises DataError where options are missing or the label names none of them."""
    texts = table.texts(text)
    questions = table.texts(question) if question else [None] * len(texts)
    given = options_of(table, options)
    targets = [
        right_option(value, choices, where=f"{table.path}:{row.line}: field {label!r}")
        for row, value, choices in zip(table.rows, table.texts(label), given, strict=True)
    ]
    return tuple(map(ChoiceExample, texts, questions, given, targets, groups, slices))


def right_option(value: str, options: Sequence[str], *, where: str) -> int:
    """Index of the option that `value` names: a letter from A, a number from 0, or the option itself."""
    value = value.strip()
    letters = LETTERS[: len(options)]
    if value in letters:
        return letters.index(value)
    if value.isascii() and value.isdigit() and int(value) < len(options):
        return int(value)
    if options.count(value) == 1:
        return options.index(value)
    raise DataError(
        f"{where}: {value!r} names none of the {len(options)} options; "
        f"give a letter from {letters[0]} to {letters[-1]}, a number from 0 to {len(options) - 1}, or an option's text"
    )


def options_of(table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The options of each row, everywhere as many, in these columns or in the one that holds lists."""
    if not columns:
        raise DataError(f"{table.path}: no columns of options, such as option1, option2, …; name them")
    for name in columns:
        table.texts(name, lists=True)  # a column that is missing is an error here
    rows = [_row_options(table, row, columns) for row in table.rows]
    for row, options in zip(table.rows, rows, strict=True):
        where = f"{table.path}:{row.line}: field {columns[0]!r}"
        if not FEWEST <= len(options) == len(rows[0]) <= len(LETTERS):
            expected = len(rows[0]) if len(rows[0]) >= FEWEST else f"{FEWEST} or more"
            raise DataError(f"{where}: {len(options)} options, expected {expected}")
        if not all(option.strip() for option in options):
            raise DataError(f"{where}: an option is empty; fill it or remove the row")
    return rows


def _row_options(table: Table, row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    values = [row.values[name] for name in columns]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not all(isinstance(value, str | int | float) for value in values):
        raise DataError(f"{table.path}:{row.line}: field {columns[0]!r}: expected texts, found {values!r:.60}")
    return tuple(map(str, values))
