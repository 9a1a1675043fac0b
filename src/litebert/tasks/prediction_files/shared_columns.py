"""Columns that a prediction file shares with the labelled examples: signs of a wrong file. It loads no torch."""

import logging
from collections.abc import Sequence
from typing import Any

from litebert.errors import DataError
from litebert.tasks.prediction_files.prediction_rows import PREDICTION
from litebert.tasks.readers.tables import Table

logger = logging.getLogger(__name__)


def validate_no_labels(predicted: Table, column: str, examples: Table, label: str) -> None:
    """Raise DataError where the predictions are those of no column `prediction`, and equal the labels of the examples.

    `predicted` has a row for each one of `examples`.
    """
    if column == PREDICTION:
        return
    found = predicted.texts(column, lists=True)
    if any(found == examples.texts(name, lists=True) for name in {column, label} & set(examples.columns)):
        raise DataError(
            f"{predicted.path}: no column {PREDICTION!r}, and {column!r} has the labels of {examples.path}; name the "
            f"column of the predictions {PREDICTION!r}"
        )


def warn_other_texts(predicted: Table, examples: Table, texts: Sequence[str]) -> None:
    """Warn where one of the columns `texts` of both tables has other values, as of rows in another order."""
    for name in texts:
        if name not in predicted.columns or name not in examples.columns:
            continue
        pairs = zip(predicted.rows, examples.rows, strict=True)
        others = [row.line for row, example in pairs if _differs(row.values[name], example.values[name])]
        if others:
            logger.warning(
                "%s:%d: field %r: not that of the example of %s in this place, as in %d of %d rows; write the rows in "
                "the order of the examples, or a column 'id' in both files",
                predicted.path,
                others[0],
                name,
                examples.path,
                len(others),
                len(predicted.rows),
            )


def _differs(value: Any, other: Any) -> bool:
    """Whether two values of one type differ; formats may write others in several ways."""
    return value != other and isinstance(value, type(other))
