"""The columns of a table that hold the options of a multiple choice."""

import re
from typing import Final

from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table

MIN_OPTIONS: Final = 2
_NUMBERED: Final = re.compile(r"(option|choice|answer|ending)([ _]?(\d+|[a-e])|[ _][f-z])", re.IGNORECASE)
_LISTS: Final = ("options", "choices", "endings")


def option_columns(table: Table) -> tuple[str, ...]:
    """Columns with the names of options: `option1`, `choice_b`, …, or one named `options` with lists."""
    numbered = tuple(name for name in table.columns if _NUMBERED.fullmatch(name))
    lists = tuple(name for name in _LISTS if isinstance(table.rows[0].values.get(name), list))
    return numbered if len(numbered) >= MIN_OPTIONS else lists[:1]


def is_option_column(name: str, columns: Columns) -> bool:
    """Whether `option_columns` finds a column of this name, where no options are named."""
    return not columns.options and (name in _LISTS or _NUMBERED.fullmatch(name) is not None)
