"""Soft labels: the probability of each label, such as `{"good": 0.9, "bad": 0.1}`, in the place of one label.

They are what a better model predicts (knowledge distillation, Hinton et al. 2015, arXiv 1503.02531, at temperature 1),
or the votes of several people. The most probable label stands for them wherever one label is needed.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeGuard

from litebert.errors import DataError, did_you_mean
from litebert.model.io.default_labels import default_label_of
from litebert.tasks.readers.label_columns import (
    UNLABELLED,
    label_lists,
    label_positions,
    sorted_labels,
)
from litebert.tasks.readers.labelled_rows import is_unlabelled
from litebert.tasks.readers.tables import Row, Table, json_text, without_duplicates
from litebert.tasks.results import MULTI_LABEL_THRESHOLD, PROBABILITIES, SEPARATOR, SUM_TOLERANCE

logger = logging.getLogger(__name__)

TASK_TYPES: Final = ("classification", "multi_label")
"""Those whose rows may have soft labels."""

ROUNDING: Final = 1e-6
"""How far beyond 0 and 1 a probability may lie, as means in single precision do."""
Probabilities = Mapping[str, float]
"""Label → probability."""


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """The soft labels of a table."""

    table: Table
    """The rows with one label, or a list of labels, in the place of the probabilities."""
    label: str
    """Column of the labels."""
    by_line: Mapping[int, Probabilities]
    """Those of each row by its line; rows that have a plain label are absent."""
    sum_to_one: bool
    """Whether the labels are classes, of which one is true; otherwise a text can have several, or none."""

    @property
    def task_type(self) -> str:
        """The task type that has such labels."""
        return TASK_TYPES[0] if self.sum_to_one else TASK_TYPES[1]

    @property
    def reason(self) -> str:
        """Why it is that task type."""
        return f"the probabilities of the labels {'' if self.sum_to_one else 'do not '}sum to 1"

    def label_names(self) -> tuple[str, ...]:
        """The labels of all rows, also those that are never the most probable; DataError if there is only one."""
        if self.sum_to_one:
            plain = [[text.strip()] for text in self.table.texts(self.label)]
        else:
            plain = label_lists(self.table, self.label)
        names = sorted_labels(name for row in (*plain, *self.by_line.values()) for name in row if name)
        if len(names) == 1:
            raise DataError(
                f"{self.table.path}: field {self.label!r}: {names[0]!r} is the only label; give data with two labels "
                "or more"
            )
        return names

    def of_line(self, line: int, labels: Sequence[str]) -> tuple[float, ...] | None:
        """The probability of each of `labels`, 0 where none is given; None for a row with a plain label.

        Raises DataError for a label that is not among them.
        """
        given = self.by_line.get(line)
        if given is None:
            return None
        if unknown := next((name for name in given if name not in labels), None):
            raise DataError(
                f"{self.table.path}:{line}: unknown label {unknown!r}{did_you_mean(unknown, labels)}; the labels are "
                f"{', '.join(map(repr, labels))}"
            )
        return tuple(given.get(name, 0.0) for name in labels)


def soft_labels(table: Table, *, text: str, label: str, task_type: str | None) -> SoftLabels | None:
    """The soft labels of a table; None if it has none, or is for another task type than those that have them.

    They are the objects in the column `label`, and in the column `probabilities` of rows whose label is empty or -1;
    CSV and TSV have them as JSON. Without `task_type`, they are of classes if their probabilities sum to 1, which then
    are divided by their sum.

    Raises:
        DataError: an object is not JSON, a value is not a number from 0 to 1, or most rows sum to 1, but not all.
    """
    if task_type not in (None, *TASK_TYPES) or text not in table.columns:
        return None
    table = _with_objects(table, label)
    columns = {row.line: _column(row, label) for row in table.rows}
    found = {row.line: _probabilities(table, row, name) for row in table.rows if (name := columns[row.line])}
    _log_both(table, label, columns)
    if not found:
        return None
    sum_to_one = _sum_to_one(table, found, task_type)
    if sum_to_one:
        found = {line: _normalized(each) for line, each in found.items()}
    names = sorted_labels(name for each in found.values() for name in each)
    positions = label_positions(names)
    others = [name for name in table.columns if name not in (label, PROBABILITIES)]
    rows = []
    for row in table.rows:
        value = _empty_if_object(row.values.get(label))
        plain = _plain(found[row.line], sum_to_one) if row.line in found else _as_named(value, positions, names)
        rows.append(Row(row.line, {**{name: row.values[name] for name in others}, label: plain}))
    return SoftLabels(Table(table.path, (*others, label), tuple(rows)), label, found, sum_to_one)


def refuse_soft_labels(table: Table, label: str) -> None:
    """Raise DataError for probabilities in the column of labels, where each row has to have one label."""
    for row in table.rows:
        value = row.values.get(label)
        given = _json_or_none(value) if _is_object_text(value) else value
        if isinstance(given, dict) and all(map(_is_probability, given.values())) and given:
            raise DataError(
                f"{table.path}:{row.line}: field {label!r}: has probabilities of labels, which only training reads; "
                "write one label, such as the most probable"
            )


def _with_objects(table: Table, label: str) -> Table:
    """The table with the objects that its cells of text hold; DataError for one that is read and is not JSON."""
    rows = tuple(_with_objects_of_row(table, row, label) for row in table.rows)
    return Table(table.path, table.columns, rows)


def _with_objects_of_row(table: Table, row: Row, label: str) -> Row:
    """The row itself if no cell is to be read as an object: most tables have none."""
    objects = {}
    for name in (label, PROBABILITIES):
        value, where = row.values.get(name), f"{table.path}:{row.line}: field {name!r}"
        if name == label or _is_missing(row, label):
            _refuse_quoted_object(value, where)
            if _is_object_text(value):
                objects[name] = _object(value, where)
    return Row(row.line, {**row.values, **objects}) if objects else row


def _is_object_text(value: Any) -> TypeGuard[str]:
    """Whether a value is a text that looks like an object; one with a name alone, such as `{name}`, is a label."""
    if not isinstance(value, str):
        return False
    inside = value.strip()
    return inside.startswith("{") and inside.endswith("}") and (":" in inside or not inside[1:-1].strip())


def _refuse_quoted_object(value: Any, where: str) -> None:
    """Raise DataError for an object in the quotes of CSV, which TSV does not have."""
    if isinstance(value, str) and value.startswith('"{""') and value.endswith('}"'):
        raise DataError(
            f"{where}: JSON in the quotes of CSV, {value:.60}, but quotes belong to the text in .tsv files; write .csv "
            "or .jsonl"
        )


def _object(value: str, where: str) -> Any:
    try:
        return json.loads(value, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError):
        raise DataError(f'{where}: expected JSON, such as {{"bad": 0.25, "good": 0.75}}, found {value!r:.80}') from None


def _column(row: Row, label: str) -> str | None:
    """The column with the soft label of a row; None if it has a plain one, an empty list of labels, or none."""
    value, beside = row.values.get(label), row.values.get(PROBABILITIES)
    if _is_soft(value):
        return label
    return PROBABILITIES if _is_soft(beside) and _is_missing(row, label) else None


def _is_missing(row: Row, label: str) -> bool:
    """Whether a row has no label, not even none of several; -1 is none where it has no probability."""
    value, beside = row.values.get(label), row.values.get(PROBABILITIES)
    if is_unlabelled(row, label):
        return value != []
    if str(value).strip() not in (UNLABELLED, f"{UNLABELLED}.0"):
        return False
    given = _json_or_none(beside) if _is_object_text(beside) else beside
    return isinstance(given, dict) and UNLABELLED not in given


def _json_or_none(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _is_soft(value: Any) -> bool:
    """Whether a value is an object with a label; those of Parquet have every label of the file, and may have nulls."""
    return isinstance(value, dict) and any(each is not None for each in value.values())


def _empty_if_object(value: Any) -> Any:
    """No label for an object without one."""
    return None if isinstance(value, dict) else value


def _log_both(table: Table, label: str, columns: Mapping[int, str | None]) -> None:
    """Log how many rows have a plain label and probabilities beside it, and how many that have none of several."""
    replaced = sum(columns[row.line] == PROBABILITIES and row.values.get(label) is not None for row in table.rows)
    if replaced and any(name is None for name in columns.values()):
        logger.info(
            "%s: %d rows whose %r is empty, or -1, are trained on their %r; a list without labels, [], is none of "
            "several",
            table.path,
            replaced,
            label,
            PROBABILITIES,
        )
    beside = (row.values.get(PROBABILITIES) for row in table.rows if columns[row.line] is None)
    both = sum(_is_soft(value) or _is_object_text(value) for value in beside)
    if both:
        logger.info(
            "%s: %d rows have %r and %r; the label is used, and without it the probabilities would be",
            table.path,
            both,
            label,
            PROBABILITIES,
        )


def _sum_to_one(table: Table, found: Mapping[int, Probabilities], task_type: str | None) -> bool:
    """Whether the labels are classes: as asked for, or if the probabilities of every row sum to 1."""
    if task_type == TASK_TYPES[1]:
        return False
    others = {line: sum(each.values()) for line, each in found.items() if not _sums_to_one(each)}
    if others and (task_type == TASK_TYPES[0] or 2 * len(others) < len(found)):
        line, total = next(iter(others.items()))
        raise DataError(
            f"{table.path}:{line}: the probabilities of the labels sum to {total:.4g}, expected 1, as in "
            f"{len(found) - len(others)} of {len(found)} rows; correct them, or set the task type multi_label if a "
            "text can have several labels"
        )
    return not others


def _sums_to_one(probabilities: Probabilities) -> bool:
    return abs(sum(probabilities.values()) - 1) <= SUM_TOLERANCE


def _normalized(probabilities: Probabilities) -> dict[str, float]:
    total = sum(probabilities.values())
    return {name: value / total for name, value in probabilities.items()}


def _plain(probabilities: Probabilities, sum_to_one: bool) -> str | list[str]:
    """The most probable label, or those that are more probable than not."""
    if sum_to_one:
        return max(probabilities, key=probabilities.__getitem__)
    return [name for name, value in probabilities.items() if value >= MULTI_LABEL_THRESHOLD]


def _as_named(value: Any, positions: Mapping[str, int], names: Sequence[str]) -> Any:
    """A plain label as the probabilities name it: 1 or 1.0 may be LABEL_1 or "1" there; several in a list or text.

    Where all names are LABEL_0, LABEL_1, …, every number is one, also if no row has its probability.
    """
    if isinstance(value, list):
        return [_as_named(each, positions, names) for each in value]
    text = value.strip() if isinstance(value, str) else "" if value is None else json_text(value)
    if text not in positions and SEPARATOR in text:
        return SEPARATOR.join(str(_as_named(part, positions, names)) for part in text.split(SEPARATOR))
    if text in positions:
        return names[positions[text]]
    unnamed = default_label_of(text) if all(name == default_label_of(name) for name in names) else None
    return unnamed or value


def _probabilities(table: Table, row: Row, column: str) -> dict[str, float]:
    where = f"{table.path}:{row.line}: field {column!r}"
    given = {}
    for name, value in _names(row.values[column].items()):
        if not name or not _is_probability(value):
            raise DataError(f"{where}: {name!r} has {value!r}, expected a probability, a number from 0 to 1")
        if name in given:
            raise DataError(f"{where}: {name!r} occurs twice; give each label once")
        given[name] = min(max(float(value), 0.0), 1.0)
    return given


def _is_probability(value: Any) -> bool:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return is_number and -ROUNDING <= value <= 1 + ROUNDING


def _names(items: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """The labels as texts, without those that have no value."""
    return [
        ((name if isinstance(name, str) else json_text(name)).strip(), value)
        for name, value in items
        if value is not None
    ]
