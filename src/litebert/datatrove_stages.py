"""Stages of tasks with the executors of datatrove: in processes, on a Slurm cluster, or on a Ray cluster.

All machines need the same file system; stages communicate by files only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from litebert.errors import ConfigError, import_extra

DatatroveExecutor = Literal["local", "slurm", "ray"]
Executor = Literal["processes", "local", "slurm", "ray"]
"""Processes of this machine, or an executor of datatrove: local tasks, a Slurm cluster, a Ray cluster."""


@dataclass(frozen=True)
class Stage:
    """A number of tasks that datatrove runs."""

    name: str
    run: Callable[[Any, int, int], None]
    """(data of a pipeline of datatrove, rank of the task, number of tasks)."""
    tasks: int


def validate_no_options(options: Sequence[str]) -> None:
    """Raise ConfigError for options of the executor `processes`."""
    if options:
        raise ConfigError(
            f"executor_options: found {' '.join(options)}, but executor processes has no options; choose another "
            "executor or leave them out"
        )


def run_stages(stages: Sequence[Stage], executor: DatatroveExecutor, *, logs: Path, options: Mapping[str, Any]) -> None:
    """Run stages one after the other. Slurm jobs continue after this returns.

    Args:
        stages: at least one.
        executor: the executor of datatrove.
        logs: directory of the logs, one folder for each stage.
        options: arguments of the executor, such as partition and time for Slurm.

    Raises:
        ConfigError: the executor does not accept the options.
        MissingExtraError: datatrove (or ray) is not installed.
    """
    executor_class = _executor_class(executor)
    last: Any = None
    try:
        for stage in stages:
            # Finished work is recognised by its digest; a completion marker of another run would skip a task.
            own = {"pipeline": [stage.run], "tasks": stage.tasks, "logging_dir": str(logs / stage.name)}
            last = executor_class(**{**options, **own, "depends": last, "skip_completed": False})
    except TypeError as error:
        raise ConfigError(f"executor {executor}: {error}; see the documentation of the datatrove executor") from None
    last.run()


def _executor_class(executor: DatatroveExecutor) -> Callable[..., Any]:
    """The executor class of datatrove."""
    names = {"local": "LocalPipelineExecutor", "slurm": "SlurmPipelineExecutor", "ray": "RayPipelineExecutor"}
    needed = {"extra": "ray" if executor == "ray" else "datatrove", "needed_for": f"executor {executor}"}
    if executor == "ray":
        import_extra("ray", **needed)  # datatrove would report a missing ray only later
    return getattr(import_extra(f"datatrove.executor.{executor}", **needed), names[executor])
