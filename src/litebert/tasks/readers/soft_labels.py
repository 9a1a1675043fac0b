"""Soft labels: the probability of each label, such as `{"good": 0.9, "bad": 0.1}`, in the place of one label.

They are what a better model predicts (knowledge distillation, Hinton et al. 2015, arXiv 1503.02531, at temperature 1),
or the votes of several people. The most probable label stands for them wherever one label is needed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from litebert.errors import DataError, did_you_mean
from litebert.tasks.readers.label_columns import label_lists, sorted_labels
from litebert.tasks.readers.labelled_rows import is_unlabelled
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.results import MULTI_LABEL_THRESHOLD

PROBABILITIES: Final = "probabilities"
"""Column with the probabilities of a row whose label is empty, as `predict` writes it."""
SUM_TOLERANCE: Final = 0.01
"""How far the sum of the probabilities of classes may be from 1, for those that are rounded."""


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """The soft labels of a table."""

    table: Table
    """The rows with one label, or a list of labels, in the place of the probabilities."""
    label: str
    """Column of the labels."""
    by_line: Mapping[int, Mapping[str, float]]
    """Line of a row → label → probability; rows that have a plain label are absent."""
    sum_to_one: bool
    """Whether the labels are classes, of which one is true; otherwise a text can have several, or none."""

    @property
    def task_type(self) -> str:
        """The task type that has such labels."""
        return "classification" if self.sum_to_one else "multi_label"

    @property
    def reason(self) -> str:
        """Why it is that task type."""
        return f"the probabilities of the labels {'' if self.sum_to_one else 'do not '}sum to 1 in every row"

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


def soft_labels(table: Table, label: str) -> SoftLabels | None:
    """The soft labels of a table; None if it has none.

    They are the objects in the column `label`, and in the column `probabilities` of rows whose label is empty. Classes
    are divided by their sum, which may be 1 within 0.01.

    Raises:
        DataError: an object is empty, or a value in it is not a number from 0 to 1.
    """
    found = {row.line: _probabilities(table.path, row, name) for row in table.rows if (name := _column(row, label))}
    if not found:
        return None
    sums = {line: sum(each.values()) for line, each in found.items()}
    sum_to_one = all(abs(total - 1) <= SUM_TOLERANCE for total in sums.values())
    if sum_to_one:
        found = {line: {name: value / sums[line] for name, value in each.items()} for line, each in found.items()}
    others = [name for name in table.columns if name not in (label, PROBABILITIES)]
    rows = []
    for row in table.rows:
        plain = _plain(found[row.line], sum_to_one) if row.line in found else row.values.get(label)
        rows.append(Row(row.line, {**{name: row.values[name] for name in others}, label: plain}))
    return SoftLabels(Table(table.path, (*others, label), tuple(rows)), label, found, sum_to_one)


def _column(row: Row, label: str) -> str | None:
    """The column with the soft label of a row; None if it has a plain one, or none."""
    if isinstance(row.values.get(label), dict):
        return label
    is_soft = is_unlabelled(row, label) and isinstance(row.values.get(PROBABILITIES), dict)
    return PROBABILITIES if is_soft else None


def _plain(probabilities: Mapping[str, float], sum_to_one: bool) -> str | list[str]:
    """The most probable label, or those that are more probable than not."""
    if sum_to_one:
        return max(probabilities, key=probabilities.__getitem__)
    return [name for name, value in probabilities.items() if value >= MULTI_LABEL_THRESHOLD]


def _probabilities(path: Any, row: Row, column: str) -> dict[str, float]:
    where = f"{path}:{row.line}: field {column!r}"
    # An object of Parquet has every label of the file, and null where a row lacks it.
    given = {str(name).strip(): value for name, value in row.values[column].items() if value is not None}
    if not given:
        raise DataError(f"{where}: has no label; write a probability for each label")
    for name, value in given.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not name or not is_number or not math.isfinite(value) or not 0 <= value <= 1:
            raise DataError(f"{where}: {name!r} has {value!r}, expected a probability, a number from 0 to 1")
    return {name: float(value) for name, value in given.items()}
