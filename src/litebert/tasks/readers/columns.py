"""Which column holds what, and what it was called in training. Before: settings, a model. After: whoever reads rows.

A model that learned from pairs answers single texts without complaint, and wrongly; a kept name is how that is noticed.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from litebert.errors import DataError
from litebert.files import read_json_object
from litebert.settings import Settings, validate_not_given
from litebert.tasks.readers.conll import ENDINGS
from litebert.tasks.readers.tables import Table
from litebert.tasks.task_type import Task

logger = logging.getLogger(__name__)

FILE: Final = "columns.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnNames:
    """Which column holds what, as readers take it."""

    text: str
    text_pair: str | None
    """The second text of a pair; the question of a multiple choice."""
    label: str
    options: tuple[str, ...]
    """The options of a multiple choice: a column each, or one that holds lists. Empty: found by their names."""
    group: str | None
    slice: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Which column holds what, as far as somebody said; what is named is never taken from elsewhere."""

    text: str | None = None
    """None: as in training, or else `text`."""
    text_pair: str | None = None
    """None: as in training, or else there is none."""
    label: str | None = None
    """None: as in training, or else `label`."""
    options: tuple[str, ...] = ()
    group: str | None = None
    slice: str | None = None

    def named(self) -> tuple[str, ...]:
        """The columns that somebody named."""
        single = (self.text, self.text_pair, self.label, self.group, self.slice)
        return (*(name for name in single if name is not None), *self.options)

    def names(self) -> ColumnNames:
        """What is not named has its usual name."""
        return ColumnNames(
            text=self.text or "text",
            text_pair=self.text_pair,
            label=self.label or "label",
            options=self.options,
            group=self.group,
            slice=self.slice,
        )


def has_columns(file: Path) -> bool:
    """Whether the columns of a file have names; SQuAD's and CoNLL's have not."""
    return file.suffix not in (".json", *ENDINGS)


def validate_no_columns(given: Mapping[str, Any], *files: Path) -> None:
    """ConfigError where columns are `given`, by the settings that name them, and none of `files` has names for them."""
    if not any(map(has_columns, files)):
        why = f"a {files[0].suffix} file has places of its own for what is asked; leave out what is named"
        validate_not_given(given, why)


class SavedColumns(Settings):
    """Names of the columns that a model learned from."""

    text: str
    """Of the text, or of the lists of words."""
    text_pair: str | None
    """Of the second text of a pair, or of the question of a multiple choice; null where there was none."""
    label: str
    """Of what was learnt."""

    @classmethod
    def of(cls, task: Task) -> Self:
        """Those of a task."""
        text, *pair = task.text
        return cls(text=text, text_pair=pair[0] if pair else None, label=task.label)

    def files(self) -> dict[str, bytes]:
        """The file that keeps them in a model directory."""
        return {FILE: (json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n").encode()}

    @classmethod
    def stored(cls, directory: Path) -> Self | None:
        """Those in a model directory; None where it holds none, as one from elsewhere."""
        path = directory / FILE
        if not path.exists():
            return None
        return cls.parse(read_json_object(path, if_missing="take a fresh copy"), where=str(path))


def resolve_columns(columns: Columns, kept: SavedColumns | None, table: Table) -> Columns:
    """`columns`, those that are not named called as in training, where the table has such columns.

    Raises DataError where a column that is named is missing, or where the model learned from two texts and the second
    is not to be found.
    """
    for name in columns.named():
        table.require(name)
    if kept is None:
        return columns

    def called(named: str | None, before: str | None) -> str | None:
        return before if named is None and before in table.columns else named

    found = replace(
        columns,
        text=called(columns.text, kept.text),
        text_pair=called(columns.text_pair, kept.text_pair),
        label=called(columns.label, kept.label),
    )
    if kept.text_pair is not None and found.text_pair is None:
        raise DataError(
            f"{table.path}: no column {kept.text_pair!r}; the model learned from two texts, {kept.text!r} and "
            f"{kept.text_pair!r}, so name the second column of this file (--text-pair)"
        )
    if kept.text_pair is None and found.text_pair is not None:
        logger.warning("%s: the model learned from single texts, and is given pairs", table.path)
    names = found.names()
    if names != columns.names():
        read = {"text": names.text, "text_pair": names.text_pair, "label": names.label}
        shown = ", ".join(f"{name} {column!r}" for name, column in read.items() if column in table.columns)
        logger.info("%s: columns as in training: %s", table.path, shown)
    return found
