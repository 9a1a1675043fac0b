"""Which column of a table has the text, the label and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from litebert.tasks.readers.tables import Table


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnNames:
    """The columns to read."""

    text: str
    text_pair: str | None
    """The second text of a pair; the question of a multiple choice."""
    label: str
    options: tuple[str, ...]
    """The options of a multiple choice: one column each, or one with lists. Empty: found by their names."""
    group: str | None
    slice: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """The columns that the user named; None is resolved from the model's training, or by default names."""

    text: str | None = None
    """Default: `text`."""
    text_pair: str | None = None
    """Default: none."""
    label: str | None = None
    """Default: `label`."""
    options: tuple[str, ...] = ()
    group: str | None = None
    slice: str | None = None

    def named(self) -> tuple[str, ...]:
        """The named columns."""
        single = (self.text, self.text_pair, self.label, self.group, self.slice)
        return (*(name for name in single if name is not None), *self.options)

    def names(self) -> ColumnNames:
        """The columns with their default names filled in."""
        return ColumnNames(
            text=self.text or "text",
            text_pair=self.text_pair,
            label=self.label or "label",
            options=self.options,
            group=self.group,
            slice=self.slice,
        )


def group_and_slice(table: Table, columns: Columns) -> tuple[Sequence[str | None], Sequence[str | None]]:
    """The group and the slice of each row; None without such columns."""
    nothing: list[str | None] = [None] * len(table.rows)
    groups = table.texts(columns.group) if columns.group else nothing
    return groups, table.texts(columns.slice) if columns.slice else nothing
