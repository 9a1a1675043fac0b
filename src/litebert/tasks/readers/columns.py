"""Which column of a table has the text, the label and the rest; and `task.json`, by which a model remembers it.

A model trained on pairs accepts single texts and predicts nonsense; the remembered columns reveal it.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from litebert.errors import ConfigError, DataError
from litebert.files import TASK, json_bytes
from litebert.settings import Settings, validate_not_given
from litebert.tasks.labelled_data import Task
from litebert.tasks.readers.tables import Table

logger = logging.getLogger(__name__)

INPUT_COLUMNS: Final = ("text", "text_pair", "options")
"""The fields of `Columns` that a model reads its inputs from."""
DEFAULT_PAIR: Final = "text_pair"
"""Column of the second text of a pair, where no other is named and the training file has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """The columns that the user named; None is resolved from the model's training, or by default names."""

    text: str | None = None
    """The text, or the list of words. Default: `text`, or `question` in a table of questions."""
    text_pair: str | None = None
    """The second text of a pair; the question of a multiple choice. Default: `text_pair`, if there is such a column."""
    label: str | None = None
    """The label, labels, score, correct option or list of labels. Default: `label`, or `answer`."""
    options: tuple[str, ...] = ()
    """The options of a multiple choice: one column each, or one with lists. Empty: found by their names."""
    group: str | None = None
    """The document, user or the like, whose rows stay together in a split."""
    slice: str | None = None
    """The column by whose values the rows are also scored separately."""

    @property
    def text_name(self) -> str:
        """The column of the text, by default `text`."""
        return self.text or "text"

    @property
    def label_name(self) -> str:
        """The column of the label, by default `label`."""
        return self.label or "label"

    def named(self) -> tuple[str, ...]:
        """The named columns."""
        single = (self.text, self.text_pair, self.label, self.group, self.slice)
        return (*(name for name in single if name is not None), *self.options)


def with_default_pair(columns: Columns, table: Table) -> Columns:
    """`columns`, with `text_pair` as the second text if the table has such texts and nothing else is read from it."""
    others = (columns.text_name, columns.label_name, *columns.named())
    if columns.text_pair is not None or DEFAULT_PAIR in others or not _has_default_pair(table):
        return columns
    return replace(columns, text_pair=DEFAULT_PAIR)


def _has_default_pair(table: Table) -> bool:
    """Whether the column `DEFAULT_PAIR` has texts and empty values alone, and not all are empty."""
    values = [row.values.get(DEFAULT_PAIR) for row in table.rows] if DEFAULT_PAIR in table.columns else []
    return any(values) and all(isinstance(value, str | None) for value in values)


def validate_label_is_no_text(columns: Columns, path: Path) -> None:
    """Raise ConfigError where one column is both a text and the label, which a model would only copy."""
    if columns.label_name in (columns.text_name, columns.text_pair):
        option = "--text" if columns.label_name == columns.text_name else "--text-pair"
        raise ConfigError(
            f"{path}: the column {columns.label_name!r} is both the text and the label; name another one ({option} or "
            "--label)"
        )


def validate_columns_read(columns: Columns, read: Collection[str], reader: str) -> None:
    """Raise ConfigError for a named column of the inputs that is not among those that `reader` reads."""
    unread = {name: getattr(columns, name) for name in INPUT_COLUMNS if name not in read}
    validate_not_given(unread, f"not used for {reader}; leave them out")


def log_columns(columns: Columns, table: Table) -> None:
    """Log which columns of texts and labels are read, and which columns are not."""
    named = {"text": columns.text_name, "text_pair": columns.text_pair, "label": columns.label_name}
    named |= {"group": columns.group, "slice": columns.slice}
    read = {name: column for name, column in named.items() if column is not None}
    shown = ", ".join(name if name == column else f"{name} {column!r}" for name, column in read.items())
    others = ", ".join(repr(column) for column in table.columns if column not in read.values())
    logger.info("%s: columns read: %s; not read: %s", table.path, shown, others or "none")


def group_and_slice(table: Table, columns: Columns) -> tuple[Sequence[str | None], Sequence[str | None]]:
    """The group and the slice of each row; None without such columns, and where they are empty."""
    nothing: list[str | None] = [None] * len(table.rows)
    groups = texts_or_none(table, columns.group) if columns.group else nothing
    return groups, texts_or_none(table, columns.slice) if columns.slice else nothing


def texts_or_none(table: Table, column: str) -> list[str | None]:
    """The values of a column, None where it is empty."""
    return [value or None for value in table.texts(column)]


class SavedTask(Settings):
    """What a model was fine-tuned on."""

    task_type: str
    """Name of its task type."""
    text: str | None = None
    """Column of the text or of the list of words; null for question answering, whose columns have default names."""
    text_pair: str | None = None
    """Column of the second text of a pair or of the question of a multiple choice."""
    label: str | None = None
    """Column of the label."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice, where they were named."""

    @property
    def reads_single_texts(self) -> bool:
        """Whether its columns are known and have no second text."""
        return self.text is not None and self.text_pair is None

    @classmethod
    def of(cls, task: Task, *, with_columns: bool = True) -> Self:
        """The task type and the columns of a task."""
        if not with_columns:
            return cls(task_type=task.task_type)
        text, *pair = task.text
        pair_column = pair[0] if pair else None
        return cls(task_type=task.task_type, text=text, text_pair=pair_column, label=task.label, options=task.options)

    def files(self) -> dict[str, bytes]:
        """The file for a model directory."""
        return {TASK: json_bytes(self.to_dict())}

    @classmethod
    def stored(cls, directory: Path) -> Self | None:
        """The task of the model in a directory; None if the directory is from transformers, for example."""
        return cls.read_json(directory / TASK)


def is_column_of_training(name: str, columns: Columns, saved: SavedTask | None) -> bool:
    """Whether `resolve_columns` would read texts or options from a column of this name, if the table had it."""
    if saved is None:
        return False
    return (name == saved.text and columns.text is None) or (name in saved.options and not columns.options)


def resolve_columns(columns: Columns, saved: SavedTask | None, table: Table) -> Columns:
    """`columns`, with the columns of training in place of those that are not named, where the table has them.

    Raises DataError where a named column is missing, or where the model was trained on pairs and there is no second
    text.
    """
    for name in columns.named():
        table.require(name)
    if saved is None or saved.text is None:
        return columns

    def or_saved(named: str | None, saved_name: str | None) -> str | None:
        return saved_name if named is None and saved_name in table.columns else named

    found = replace(
        columns,
        text=or_saved(columns.text, saved.text),
        text_pair=or_saved(columns.text_pair, saved.text_pair),
        label=or_saved(columns.label, saved.label),
        options=columns.options or (saved.options if set(saved.options) <= set(table.columns) else ()),
    )
    if saved.text_pair is not None and found.text_pair is None:
        raise DataError(
            f"{table.path}: no column {saved.text_pair!r}; the model was trained on pairs of {saved.text!r} and "
            f"{saved.text_pair!r}, so name the second column of this file (--text-pair)"
        )
    if saved.text_pair is None and found.text_pair is not None:
        logger.warning("%s: the model was trained on single texts and is given pairs", table.path)
    if found.text_pair is None and DEFAULT_PAIR in table.columns:
        logger.info("%s: the column %r is not read; the model was trained on single texts", table.path, DEFAULT_PAIR)
    used, default = (
        {"text": each.text_name, "text_pair": each.text_pair, "label": each.label_name} for each in (found, columns)
    )
    if used != default:
        shown = ", ".join(f"{name} {column!r}" for name, column in used.items() if column in table.columns)
        logger.info("%s: using the columns of training: %s", table.path, shown)
    return found
