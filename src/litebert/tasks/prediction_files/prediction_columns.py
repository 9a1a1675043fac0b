"""Columns of a prediction file → predictions as the task types score them. Importing it loads no torch.

It reads what `DecodedPrediction.to_record` in `results` writes. Without a column `probabilities` each predicted label
has probability 1, and the metrics of probabilities are left out.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.errors import DataError, did_you_mean
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Scored
from litebert.tasks.prediction_files.prediction_rows import PREDICTION, WORD
from litebert.tasks.readers.label_columns import label_lists, label_positions, label_scores, sorted_labels
from litebert.tasks.readers.tables import Row, Table, without_duplicates
from litebert.tasks.results import MULTI_LABEL_THRESHOLD, PROBABILITIES, SUM_TOLERANCE

logger = logging.getLogger(__name__)

ROUNDING: Final = 0.005
"""How far the probability of a label may be on the other side of the threshold than the prediction says."""
_MAX_SHOWN: Final = 20
"""Labels that a message names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionReader:
    """How a task type reads and scores the predictions of a file."""

    columns: tuple[str, ...] = (PREDICTION, "label")
    """Names of the column of the predictions; the first one that the file has is read."""
    read: Callable[[Table, str, LabelledData], list[Any]]
    """(a row for each example, column, data) → the predictions; DataError with file, line and field."""
    reads_probabilities: bool = False
    """Whether it reads the column `probabilities`."""
    rows: Callable[[Table], Table] = lambda table: table
    """The table of a file with a row for each example, where it may have others."""
    evaluate: Callable[[Task, Sequence[Any], LabelledData], Scored] | None = None
    """(task, predictions, data) → scores; None: as `TaskType.evaluate` scores those of a model."""

    def column(self, table: Table) -> str:
        """The column of the predictions; DataError if there is none."""
        found = [name for name in self.columns if name in table.columns]
        if not found:
            raise DataError(
                f"{table.path}: no column {self.columns[0]!r}{did_you_mean(self.columns[0], table.columns)}; it has "
                f"{', '.join(map(repr, table.columns))}; name the column of the predictions {self.columns[0]!r} in the "
                "first line"
            )
        return found[0]


def read_classes(table: Table, column: str, data: LabelledData) -> list[np.ndarray]:
    """Probabilities of the labels for each row, float64 [C]."""
    names = data.labels or ()
    known = label_positions(names)
    predicted = [_known(value, known, names, where=_where(table, row, column)) for row, value in _filled(table, column)]
    return with_probabilities(table, predicted, names)


def with_probabilities(table: Table, predicted: Sequence[int], names: Sequence[str]) -> list[np.ndarray]:
    """For each row the probabilities that it has, whose largest is that of `predicted`; without any, 1 for that class.

    Of several that are equally large, as after rounding, the one of `predicted` becomes the largest by rounding.

    `names` are the labels, or the letters of the options; float64 [C].
    """
    if PROBABILITIES not in table.columns:
        return list(np.eye(len(names))[list(predicted)])
    rows = []
    for row, best in zip(table.rows, predicted, strict=True):
        where, given = _where(table, row, PROBABILITIES), _probabilities(table, row, names)
        if abs(given.sum() - 1) > SUM_TOLERANCE:
            raise DataError(f"{where}: they sum to {given.sum():.4g}, expected 1; normalize them")
        most = int(given.argmax())
        if given[best] < given[most]:
            raise DataError(
                f"{where}: the prediction is {names[best]!r} ({given[best]:.4g}), but the most probable label "
                f"{names[most]!r} ({given[most]:.4g}); correct one of them, or leave out the probabilities"
            )
        if best != most:
            given[best] = np.nextafter(given[best], 2)
        rows.append(given)
    return rows


def read_label_sets(table: Table, column: str, data: LabelledData) -> list[np.ndarray]:
    """Independent probabilities of the labels for each row, float64 [C]."""
    _refuse_null(table, column, advice="write an empty list for no label")
    names = data.labels or ()
    known = label_positions(names)
    predicted = np.zeros((len(table.rows), len(names)))
    for index, (row, given) in enumerate(zip(table.rows, label_lists(table, column), strict=True)):
        positions = [_known(name, known, names, where=_where(table, row, column)) for name in given]
        predicted[index, positions] = 1
    if PROBABILITIES not in table.columns:
        return list(predicted)
    rows = []
    for row, own in zip(table.rows, predicted, strict=True):
        given = _probabilities(table, row, names)
        rounded = ((given >= MULTI_LABEL_THRESHOLD) != own) & (abs(given - MULTI_LABEL_THRESHOLD) <= ROUNDING)
        given[rounded] = np.where(own[rounded], MULTI_LABEL_THRESHOLD, np.nextafter(MULTI_LABEL_THRESHOLD, 0))
        if wrong := [name for name, each in zip(names, (given >= MULTI_LABEL_THRESHOLD) != own, strict=True) if each]:
            raise DataError(
                f"{_where(table, row, PROBABILITIES)}: that of {wrong[0]!r} is {given[known[wrong[0]]]:.4g}, and a "
                f"label is predicted from {MULTI_LABEL_THRESHOLD}; correct the prediction, or leave them out"
            )
        rows.append(given)
    return rows


def read_scores(table: Table, column: str, data: LabelledData) -> list[np.ndarray]:
    """The score of each row, float64 [1]."""
    values = [value for _, value in _filled(table, column)]
    return [np.array([score]) for score in label_scores(table, column, values)]


def read_word_labels(table: Table, column: str, data: LabelledData) -> list[np.ndarray]:
    """For each row 1 at the label of each word, float64 [words, C]; labels are a list, or have spaces between them."""
    names = data.labels or ()
    known, rows = label_positions(names), []
    for row, text, example in zip(table.rows, table.texts(column, lists=True), data.examples, strict=True):
        where, value = _where(table, row, column), row.values[column]
        given = list(map(str, value)) if isinstance(value, list) else text.split()
        if len(given) != len(example.words):
            raise DataError(f"{where}: {len(given)} labels for {len(example.words)} words; write one for each word")
        rows.append(np.eye(len(names))[[_known(each, known, names, where=where) for each in given]])
    _warn_other_words(table, data)
    return rows


def _warn_other_words(table: Table, data: LabelledData) -> None:
    """Warn of words of a table of sentences that are not those of the examples."""
    if WORD not in table.columns:
        return
    pairs = zip(table.rows, data.examples, strict=True)
    others = [row.line for row, example in pairs if row.values[WORD] != [*example.words]]
    if others:
        logger.warning(
            "%s:%d: other words than in %s, as in %d of %d sentences; write the sentences in its order",
            table.path,
            others[0],
            data.path,
            len(others),
            len(table.rows),
        )


def read_texts(table: Table, column: str, data: LabelledData) -> list[str]:
    """The answer of each row; empty where there is none."""
    _refuse_null(table, column, advice="write an empty text for no answer")
    return table.texts(column)


def labels_of_probabilities(table: Table) -> tuple[str, ...] | None:
    """The labels that the probabilities of the first row name, in the order of labels of data; None without names.

    The order of a file says nothing, such as that of descending probabilities, but F1 is that of the second label.
    """
    first = _parsed(table, table.rows[0]) if PROBABILITIES in table.columns else None
    return sorted_labels(first) if isinstance(first, Mapping) else None


def _refuse_null(table: Table, column: str, *, advice: str) -> None:
    """Raise DataError for a row of JSON or Parquet without a prediction."""
    for row in table.rows:
        if row.values[column] is None:
            raise DataError(f"{_where(table, row, column)}: no prediction; {advice}")


def filled_texts(table: Table, column: str) -> list[str]:
    """The values of a column without surrounding spaces; DataError for an empty one."""
    return [value for _, value in _filled(table, column)]


def _filled(table: Table, column: str) -> list[tuple[Row, str]]:
    pairs = [(row, value.strip()) for row, value in zip(table.rows, table.texts(column), strict=True)]
    for row, value in pairs:
        if not value:
            raise DataError(f"{_where(table, row, column)}: empty; write the prediction for this row")
    return pairs


def _known(value: str, known: Mapping[str, int], names: Sequence[str], *, where: str) -> int:
    if value not in known:
        shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
        raise DataError(
            f"{where}: unknown label {value!r}{did_you_mean(value, known)}; the labels are {shown}: correct it, or "
            "name all labels (--label-names) if the data lacks one"
        )
    return known[value]


def _probabilities(table: Table, row: Row, names: Sequence[str]) -> np.ndarray:
    """The probabilities of a row in the order of `names`: an object of labels, or a list in this order."""
    where, value = _where(table, row, PROBABILITIES), _parsed(table, row)
    if isinstance(value, Mapping):
        known = label_positions(names)
        by_index = {known.get(name): each for name, each in value.items()}
        is_complete = None not in by_index and len(by_index) == len(value)
        value = [by_index.get(index) for index in range(len(names))] if is_complete else []
    if not isinstance(value, list) or len(value) != len(names) or None in value:
        shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
        raise DataError(f"{where}: expected one for each of {shown}, found {row.values[PROBABILITIES]!r:.80}")
    if not all(_is_probability(each) for each in value):
        raise DataError(f"{where}: expected numbers from 0 to 1, found {row.values[PROBABILITIES]!r:.80}")
    return np.array(value, dtype=np.float64)


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _parsed(table: Table, row: Row) -> Any:
    """The probabilities of a row, which CSV and TSV have as JSON."""
    value = row.values.get(PROBABILITIES)
    try:
        return json.loads(value, object_pairs_hook=without_duplicates) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise DataError(
            f"{_where(table, row, PROBABILITIES)}: expected JSON, such as "
            f'{{"bad": 0.25, "good": 0.75}}, found {value!r:.80}'
        ) from None


def _where(table: Table, row: Row, column: str) -> str:
    return f"{table.path}:{row.line}: field {column!r}"
