"""The names of classes without names, which transformers calls LABEL_0, LABEL_1, …"""

import re
from collections.abc import Sequence
from typing import Final

_PREFIX: Final = "LABEL_"
_DEFAULT: Final = re.compile(rf"{_PREFIX}(\d{{1,18}})", re.ASCII)
_NUMBER: Final = re.compile(rf"(?:{_PREFIX})?(\d{{1,18}})(?:\.0)?", re.ASCII)
"""A class by its number, which pandas writes as 1.0 in a column where a value is missing."""


def default_labels(classes: int) -> tuple[str, ...]:
    """LABEL_0, LABEL_1, … for this number of classes."""
    return tuple(f"{_PREFIX}{index}" for index in range(classes))


def numbers_of(labels: Sequence[str]) -> tuple[str, ...] | None:
    """`0`, `1`, … if the labels are all LABEL_0, LABEL_1, … in this order; else None."""
    are_default = labels and tuple(labels) == default_labels(len(labels))
    return tuple(map(str, range(len(labels)))) if are_default else None


def class_number(label: str) -> int | None:
    """1 for LABEL_1; None for any other name."""
    found = _DEFAULT.fullmatch(label)
    return int(found[1]) if found else None


def default_label_of(text: str) -> str | None:
    """LABEL_1 for 1, 1.0 or LABEL_1; None for any other text."""
    found = _NUMBER.fullmatch(text)
    return f"{_PREFIX}{int(found[1])}" if found else None
