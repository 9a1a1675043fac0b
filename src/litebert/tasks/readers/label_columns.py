"""A column of labels → targets; every error names file, line and column."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from litebert.errors import ConfigError, DataError, did_you_mean
from litebert.model.io.default_labels import class_number, default_labels
from litebert.tasks.readers.labelled_rows import require_labels
from litebert.tasks.readers.tables import Table, json_text
from litebert.tasks.results import SEPARATOR

NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d+,\d+", re.ASCII)
UNLABELLED: Final = "-1"
"""Where it is not the name of a label: the row has none, as in test splits of the hub."""
MAX_INTEGER_CLASSES: Final = 20
"""A column with more distinct whole numbers than this is guessed to be a score."""
_WHOLE_NUMBER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_OTHER_SEPARATORS: Final = (",", ";")


def non_empty_labels(table: Table, label: str) -> list[str]:
    """The label column without surrounding spaces; an empty label is a DataError."""
    values = [value.strip() for value in table.texts(label)]
    require_labels(table, label)
    return values


def label_names(table: Table, label: str, values: Sequence[str]) -> tuple[str, ...]:
    """The labels of a column with one label in each row; DataError if all rows have the same."""
    if len(set(values)) == 1:
        why = " (-1 marks rows without labels, as in test splits of the hub)" if values[0] == UNLABELLED else ""
        raise DataError(
            f"{table.path}: field {label!r}: every row has the label {values[0]!r}{why}; give data with two labels or "
            "more"
        )
    return sorted_labels(values)


def sorted_labels(values: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels; whole numbers, also those of LABEL_0, LABEL_1, …, in numeric order, others alphabetically."""
    names = set(values)
    is_numbered = all(map(_WHOLE_NUMBER.fullmatch, names)) or None not in map(class_number, names)
    return tuple(sorted(names, key=_by_number if is_numbered else None))


def _by_number(name: str) -> tuple[int, str]:
    number = class_number(name)
    return int(name) if number is None else number, name


_BOOLEANS: Final = {"true": "True", "false": "False", "True": "true", "False": "false"}
"""Name of a boolean label → how else it is written."""


def label_positions(names: Sequence[str]) -> dict[str, int]:
    """Label → index; those without names (LABEL_0) are also known as numbers, and numbers as them.

    Numbers may end in `.0`, as pandas writes whole numbers in a column where a value is missing, and `true` and `false`
    are known as `True` and `False`, as it writes booleans; those of JSON are `true` and `false`.
    """
    positions = {name: index for index, name in enumerate(names)}
    unnamed = default_labels(len(names))
    numbers = tuple(map(str, range(len(names))))
    if tuple(names) in (unnamed, numbers):
        positions |= {other: index for index, pair in enumerate(zip(unnamed, numbers, strict=True)) for other in pair}
    whole = {f"{name}.0": index for name, index in positions.items() if name.isdecimal()}
    pandas = {other: positions[name] for name, other in _BOOLEANS.items() if name in positions}
    return whole | pandas | positions


def joined_labels_note(label: str, values: Sequence[str]) -> str | None:
    """How to write several labels for a row, where `values` seem to join them with another sign than `|`; else None.

    At least two rows have the sign, and either every part between the signs is a label of other rows, or splitting
    leaves fewer than half as many labels.
    """
    names = set(values)
    for sign in _OTHER_SEPARATORS:
        parts = {value: [part.strip() for part in value.split(sign) if part.strip()] for value in names}
        joined = [value for value in values if len(parts[value]) > 1]
        distinct = {part for each in parts.values() for part in each}
        alone = all(part in names for value in joined for part in parts[value])
        if len(joined) > 1 and (alone or 2 * len(distinct) < len(names)):
            example = joined[0]
            return (
                f"field {label!r}: {len(joined)} rows seem to have several labels with {sign!r} between them, such as "
                f"{example!r}, which is read as one label; write {SEPARATOR!r} between labels, "
                f"{SEPARATOR.join(parts[example])!r}, or lists in JSON lines"
            )
    return None


def label_indices(table: Table, label: str, values: Sequence[str], names: Sequence[str]) -> list[int]:
    """The index of each value in `names`, which may be written as in `label_positions`."""
    known = label_positions(names)
    for row, value in zip(table.rows, values, strict=True):
        if value not in known:
            raise _unknown_label(table, row.line, label, value, names)
    return [known[value] for value in values]


def label_scores(table: Table, label: str, values: Sequence[str]) -> list[float]:
    """Each value as a finite number."""
    refuse_decimal_commas(table, label, values)
    for row, value in zip(table.rows, values, strict=True):
        if not NUMBER.fullmatch(value) or not math.isfinite(float(value)):
            raise DataError(f"{table.path}:{row.line}: field {label!r}: {value!r} is not a finite number")
    return [float(value) for value in values]


def refuse_decimal_commas(table: Table, label: str, values: Sequence[str]) -> None:
    """DataError if every value is a whole number or has a decimal comma, and one has."""
    found = [
        (row.line, value) for row, value in zip(table.rows, values, strict=True) if _DECIMAL_COMMA.fullmatch(value)
    ]
    if found and all(NUMBER.fullmatch(value.replace(",", ".", 1)) for value in values):
        line, value = found[0]
        raise DataError(
            f"{table.path}:{line}: field {label!r}: {value!r} has a decimal comma; write a point, "
            f"{value.replace(',', '.')}"
        )


def label_lists(table: Table, label: str) -> list[list[str]]:
    """The labels of each row, possibly none: a JSON list, or names separated by `|`."""
    lists = []
    for row, text in zip(table.rows, table.texts(label, lists=True), strict=True):
        value = row.values[label]
        where = f"{table.path}:{row.line}: field {label!r}"
        given = value if isinstance(value, list) else text.split(SEPARATOR) if text else []
        names = [_label_name(name, where) for name in given]
        if not all(names):
            raise DataError(f"{where}: a label is empty; remove it")
        if len(set(names)) < len(names):
            raise DataError(f"{where}: a label occurs twice; give each label once")
        lists.append(names)
    return lists


def _label_name(value: Any, where: str) -> str:
    """The name of one label of a list, as in a column with one label for each row."""
    if isinstance(value, list | tuple | dict | bytes):
        raise DataError(f"{where}: a label is a {type(value).__name__}; expected a text or a number")
    return ("" if value is None else value if isinstance(value, str) else json_text(value)).strip()


def label_indicators(
    table: Table, label: str, lists: Sequence[Sequence[str]], names: Sequence[str]
) -> list[tuple[float, ...]]:
    """For each row a 1 for every label it has, which may be written as in `label_positions`, a 0 for the others."""
    known = label_positions(names)
    for row, given in zip(table.rows, lists, strict=True):
        for value in given:
            if value not in known:
                raise _unknown_label(table, row.line, label, value, names)
    indices = [{known[value] for value in given} for given in lists]
    return [tuple(float(index in given) for index in range(len(names))) for given in indices]


def distinct_numbers(table: Table, label: str, values: Sequence[str]) -> set[float] | None:
    """The different numbers of a column; None where a value is no number."""
    if not all(NUMBER.fullmatch(value) for value in values):
        return None
    return set(label_scores(table, label, values))


def weights_by_label(weights: Mapping[str, float], labels: Sequence[str]) -> np.ndarray:
    """The weight of each label, 1 where none is given; ConfigError for a label that does not exist."""
    for name in weights:
        if name not in labels:
            raise ConfigError(
                f"class_weights: unknown label {name!r}{did_you_mean(name, labels)}; labels are {', '.join(labels)}"
            )
    return np.array([weights.get(label, 1.0) for label in labels])


def _unknown_label(table: Table, line: int, label: str, value: str, names: Collection[str]) -> DataError:
    where = f"{table.path}:{line}: field {label!r}"
    if value == UNLABELLED:
        return DataError(
            f"{where}: -1 marks a row without a label, as in test splits of the hub; give a file with labels, or use "
            "`predict`"
        )
    shown = ", ".join(repr(name) for name in list(names)[:20])
    return DataError(
        f"{where}: unknown label {value!r}{did_you_mean(value, names)}; the labels of training are {shown}"
    )
