"""The settings of commands that read a file, or many. Imports no torch, so that wrong settings are refused at once."""

import glob
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.model_arguments import ModelArguments
from litebert.datatrove_stages import Executor
from litebert.errors import ConfigError
from litebert.hub_datasets import is_dataset_name
from litebert.machine import validate_processes
from litebert.settings import Settings


class FileWorkers(Settings):
    """With a pattern of files, such as 'texts/*.csv': who works on them."""

    workers: int = Field(default=1, gt=0)
    """Processes, or tasks of the executor, that share the files of a pattern, each with one thread unless --threads
    says otherwise; the outputs do not depend on it."""
    executor: Executor = "processes"
    """Processes of this machine, or an executor of datatrove: local tasks, a Slurm cluster, a Ray cluster."""
    executor_options: tuple[str, ...] = ()
    """Arguments of the datatrove executor, such as partition=cpu time=04:00:00 for Slurm."""
    output_suffix: str | None = None
    """Ending of the outputs for a pattern, such as .jsonl."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """The processes of this machine are not too many."""
        if self.executor in ("processes", "local"):
            validate_processes(self.workers, where="workers")
        return self


class FileArguments(ModelArguments):
    """A model, a file or a pattern of files that it reads, and where the output of each is written."""

    model: str
    """Model or run directory, or a name on the hub."""
    input: Path
    """The file, or a quoted pattern of files."""
    output: Path
    """The output; for a pattern the directory of all outputs."""
    files: FileWorkers = FileWorkers()


def is_pattern(path: Path) -> bool:
    """Whether a path has wildcards and is not the name of a file or, as `hf:NAME:test[:200]`, of a data set."""
    return glob.has_magic(str(path)) and not path.exists() and not is_dataset_name(path)


def validate_one_file(given: FileWorkers) -> None:
    """Raise ConfigError for settings that a single file has no use for."""
    used = given.to_dict()
    changed = [name for name, default in FileWorkers().to_dict().items() if used[name] != default]
    if changed:
        raise ConfigError(f"{', '.join(changed)}: only for a pattern of files, such as 'texts/*.csv'; leave it out")
