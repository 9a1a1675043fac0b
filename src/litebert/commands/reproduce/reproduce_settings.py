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
    """tiny (hours on two cores), small (two days on a GPU), paper (for --plan), or a .yaml file."""
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
        """The tables, each once, with all those of the package in the place of `all`."""
        found = (file_names("tables") if name == "all" else [name] for name in self.tables)
        return tuple(dict.fromkeys(name for names in found for name in names))

    @property
    def inputs(self) -> Inputs:
        """The data of the cells."""
        return Inputs(self.corpus, self.additional_corpus, self.data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Every table and the scale exist, and no two tables have one name in the report."""
        load_scale(self.scale)
        found = {name: name for name in file_names("tables")}
        for name in self.names:
            load_table(name)
            other = found.setdefault(Path(name).stem, name)
            if other != name:
                raise ValueError(f"tables: {other} and {name} have one name in the report; rename one of the files")
        return self
