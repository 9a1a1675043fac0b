"""The benchmarks of which a directory has the files. Imports no torch, as settings need it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from litebert.commands.finetune.finetune_settings import RecipeSet, recipe_of_task
from litebert.commands.recipes import recipe_names
from litebert.errors import ConfigError
from litebert.tasks.benchmarks.benchmark_files import available_splits
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task
from litebert.tasks.benchmarks.hub_glue import task_folders

ALL_TASKS: Final = "all"
"""Stands for `tasks_with_files` where tasks are named."""


def with_all_tasks(
    tasks: tuple[str, ...], directories: Sequence[Path], *, recipes: RecipeSet, argument: str
) -> tuple[str, ...]:
    """`tasks`, with those that have files in place of `all`; ConfigError if there are none, or for `all` beside others.

    `argument` gives the directories.
    """
    if tasks == (ALL_TASKS,):
        return tasks_with_files(directories, recipes=recipes, argument=argument)
    if ALL_TASKS in tasks:
        others = ", ".join(task for task in tasks if task != ALL_TASKS) or "itself"
        raise ConfigError(f"tasks: {ALL_TASKS!r} beside {others}; give it alone, or name the tasks")
    return tasks


def tasks_with_files(directories: Sequence[Path], *, recipes: RecipeSet, argument: str) -> tuple[str, ...]:
    """Every benchmark with a recipe whose training and development file are in its own folder of a directory.

    Not those that are a part or another form of one of them, as race-middle of race. Raises ConfigError if there are
    none.
    """
    known = recipe_names("finetune")
    whole = [task for task in BENCHMARKS if recipe_of_task(task) == task and recipe_of_task(task, recipes) in known]
    found = tuple(task for task in whole if directory_of(task, _own_folders(task, directories)) is not None)
    if not found:
        searched = f"none is in {', '.join(map(str, directories))}" if directories else "no directory is given"
        raise ConfigError(
            f"tasks: all those with files, but {searched}; give the directory of the benchmarks ({argument})"
        )
    return found


def directory_of(task: str, directories: Sequence[Path]) -> Path | None:
    """The first directory with training and development file of a benchmark; None if there is none."""
    for directory in directories:
        if all(available_splits(task, directory, start=split) for split in ("train", "dev")):
            return directory
    return None


def _own_folders(task: str, directories: Sequence[Path]) -> list[Path]:
    # Files directly in a directory may be those of any task: GLUE's are all named train.tsv.
    return [directory / folder for directory in directories for folder in task_folders(benchmark_task(task))]
