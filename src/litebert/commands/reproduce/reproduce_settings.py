"""The settings of `litebert reproduce`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.reproduce.cells import Inputs
from litebert.commands.reproduce.tables.paper_tables import load_table
from litebert.commands.reproduce.tables.scales import load_scale
from litebert.commands.reproduce.tables.table_files import file_names
from litebert.settings import MAX_SEEDS, Settings


class ReproduceRun(Settings):
    """What is reproduced, at which scale, from which data."""

    tables: tuple[str, ...] = Field(min_length=1)
    """table-1 to table-14, figure-1, figure-2, .yaml files, or `all`."""
    scale: str = "tiny"
    """tiny (hours on two cores), small (a day on a GPU), paper (for --plan), or a .yaml file."""
    corpus: Path
    """Corpus directory from `litebert corpus build`."""
    additional_corpus: tuple[Path, ...] = ()
    """Corpora of the rows with additional data."""
    data: tuple[Path, ...] = ()
    """Directories that hold the folders or files of the tasks, as --task-dir; tasks without files are left out."""
    seeds: int | None = Field(default=None, ge=1, le=MAX_SEEDS)
    """Number of seeds, from 0, of every table; default: as the scale says."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tables, `all` resolved."""
        return tuple(file_names("tables")) if "all" in self.tables else self.tables

    @property
    def inputs(self) -> Inputs:
        """The data of the cells."""
        return Inputs(self.corpus, self.additional_corpus, self.data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Every table and the scale exist."""
        load_scale(self.scale)
        for name in self.names:
            load_table(name)
        return self
