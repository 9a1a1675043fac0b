"""A labelled file with named columns → examples, and what kind of task they are.

Before: `rows`. After: `splits`, `features`.
"""

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.errors import DataError
from litebert.tasks.rows import Table, did_you_mean, read_table
from litebert.tasks.task import Kind

logger = logging.getLogger(__name__)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
MOST_INTEGER_CLASSES = 20
"""More distinct whole numbers than this are guessed to be scores."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled row."""

    text: str
    text_pair: str | None
    target: float
    """Index of the label, or the score of a regression."""
    group: str | None
    """Rows of one group (a document, a user) are never split between training and evaluation."""


@dataclass(frozen=True, slots=True)
class LabelledData:
    """The examples of one file, in its order."""

    path: Path
    examples: tuple[Example, ...]
    labels: tuple[str, ...] | None
    """Label names by index; None for a regression."""
    reason: str
    """Why the rows are taken as classification or regression."""

    @property
    def kind(self) -> Kind:
        """Classification or regression."""
        return "regression" if self.labels is None else "classification"


def read_labelled(
    path: Path,
    *,
    text: str,
    text_pair: str | None = None,
    label: str,
    group: str | None = None,
    kind: Kind | None = None,
    labels: Sequence[str] | None = None,
) -> LabelledData:
    """The rows of a CSV, TSV or JSONL file, from the columns of these names.

    `kind` None guesses from the labels and says so. `labels` are those of the training file: another one is an error.
    Raises DataError with file, line and field.
    """
    table = read_table(path)
    texts = table.texts(text)
    pairs = table.texts(text_pair) if text_pair else [None] * len(texts)
    groups = table.texts(group) if group else [None] * len(texts)
    values = _filled(table, label)
    kind, reason = (kind, "as asked") if kind else _guess_kind(table, label, values)
    names = None if kind == "regression" else tuple(labels or _label_names(table, label, values))
    targets = _scores(table, label, values) if names is None else _indices(table, label, values, names)
    examples = tuple(map(Example, texts, pairs, targets, groups))
    logger.info("%s: %d rows, %s (%s)", path, len(examples), _described(names), reason)
    _mention_empty_texts(path, texts)
    return LabelledData(path, examples, names, reason)


def _filled(table: Table, label: str) -> list[str]:
    """The label column without surrounding blanks; an empty label is an error."""
    values = [value.strip() for value in table.texts(label)]
    for row, value in zip(table.rows, values, strict=True):
        if not value:
            raise DataError(f"{table.path}:{row.line}: field {label!r}: the label is empty; fill it or remove the row")
    return values


def _guess_kind(table: Table, label: str, values: list[str]) -> tuple[Kind, str]:
    if not all(NUMBER.fullmatch(value) for value in values):
        _refuse_free_text(table, label, values)
        return "classification", f"the column {label!r} holds words"
    distinct = set(_scores(table, label, values))
    if any(score != int(score) for score in distinct):
        return "regression", f"the column {label!r} holds fractions"
    if len(distinct) > MOST_INTEGER_CLASSES:
        return "regression", f"the column {label!r} holds {len(distinct)} different numbers"
    return "classification", f"the column {label!r} holds {len(distinct)} different whole numbers"


def _refuse_free_text(table: Table, label: str, values: list[str]) -> None:
    """Labels that hardly ever repeat are texts or identifiers of a column named by mistake."""
    distinct = len(set(values))
    if len(values) >= MOST_INTEGER_CLASSES and distinct > len(values) / 2:
        raise DataError(
            f"{table.path}: field {label!r}: {distinct} different labels in {len(values)} rows look like texts, not "
            f"labels; name another column (of {', '.join(map(repr, table.columns))}) or say the kind"
        )


def _label_names(table: Table, label: str, values: list[str]) -> list[str]:
    """Distinct labels, whole numbers in numeric order, others in alphabetical order."""
    names = set(values)
    if len(names) == 1:
        raise DataError(f"{table.path}: field {label!r}: every row has the label {values[0]!r}; nothing can be learnt")
    whole_numbers = all(re.fullmatch(r"-?\d{1,18}", name, re.ASCII) for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if whole_numbers else None)


def _indices(table: Table, label: str, values: list[str], names: tuple[str, ...]) -> list[int]:
    index = {name: position for position, name in enumerate(names)}
    for row, value in zip(table.rows, values, strict=True):
        if value not in index:
            known = ", ".join(repr(name) for name in names[:20])
            raise DataError(
                f"{table.path}:{row.line}: field {label!r}: unknown label {value!r}{did_you_mean(value, names)}; "
                f"the labels of training are {known}"
            )
    return [index[value] for value in values]


def _scores(table: Table, label: str, values: list[str]) -> list[float]:
    for row, value in zip(table.rows, values, strict=True):
        if not NUMBER.fullmatch(value) or not math.isfinite(float(value)):
            raise DataError(f"{table.path}:{row.line}: field {label!r}: {value!r} is not a finite number")
    return [float(value) for value in values]


def _described(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "regression"
    shown = ", ".join(repr(name) for name in names[:10])
    return f"classification into {len(names)} labels: {shown}{', …' if len(names) > 10 else ''}"


def _mention_empty_texts(path: Path, texts: list[str]) -> None:
    empty = sum(not text.strip() for text in texts)
    if empty:
        logger.warning("%s: %d rows have an empty text; they are kept", path, empty)
