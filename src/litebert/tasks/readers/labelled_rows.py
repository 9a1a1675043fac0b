"""Which rows of a labelled table are used: not those that are blank, and those without a label as the setting says."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from litebert.errors import DataError
from litebert.tasks.readers.tables import Row, Table

logger = logging.getLogger(__name__)

SKIP_ADVICE: Final = "(finetune: data.unlabelled_rows=skip; evaluate, compare and ensemble: --unlabelled-rows skip)"
_MAX_SHOWN: Final = 5
"""Lines that a message names."""


def without_blank_rows(table: Table) -> Table:
    """`table` without the rows all of whose cells are empty, as spreadsheets leave them; DataError if none is left."""
    kept = replace(table, rows=tuple(row for row in table.rows if not is_blank(row)))
    if not kept.rows:
        raise DataError(f"{table.path}: all {len(table.rows)} rows are blank; give a file with at least one row")
    return kept


def is_blank(row: Row) -> bool:
    """Whether every cell of a row is empty."""
    return all(map(_is_empty, row.values.values()))


def without_unlabelled_rows(table: Table, label: str) -> Table:
    """`table` without the rows whose label is empty; unchanged if no row has a label."""
    kept = tuple(row for row in table.rows if not is_unlabelled(row, label))
    return replace(table, rows=kept) if kept else table


def is_unlabelled(row: Row, label: str) -> bool:
    """Whether the label of a row is empty."""
    return _is_empty(row.values.get(label))


def log_skipped(table: Table, kept: Table, why: str) -> None:
    """Log which rows of `table` are not in `kept`, if any."""
    lines = {row.line for row in kept.rows}
    if skipped := [row.line for row in table.rows if row.line not in lines]:
        counts = (len(skipped), len(table.rows))
        logger.info("%s: skipped %d of %d rows, which %s (%s)", table.path, *counts, why, _shown(skipped))


def require_labels(table: Table, label: str) -> None:
    """DataError if the label of a row is empty."""
    lines = [row.line for row in table.rows if _is_empty(row.values[label])]
    if not lines:
        return
    where = f"{table.path}:{lines[0]}: field {label!r}: the label is empty in"
    if len(lines) == len(table.rows):
        raise DataError(f"{where} all {len(lines)} rows; fill it, or name the column of the label (--label)")
    raise DataError(
        f"{where} {len(lines)} of {len(table.rows)} rows ({_shown(lines)}); fill it, remove the rows, or skip "
        f"them {SKIP_ADVICE}"
    )


def _is_empty(value: Any) -> bool:
    is_missing = value is None or value == [] or value != value  # as NaN, which data frames have
    return is_missing or (isinstance(value, str) and not value.strip())


def _shown(lines: Sequence[int]) -> str:
    name = "line" if len(lines) == 1 else "lines"
    return f"{name} " + ", ".join(map(str, lines[:_MAX_SHOWN])) + (", …" if len(lines) > _MAX_SHOWN else "")
