"""Running cells: each in a process of its own, several at once, resumed after any interruption."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from litebert.commands.reproduce.cells import Cell, Inputs
from litebert.commands.reproduce.worker import Job, run_job
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import CheckpointError, LitebertError, StoppedBySignalError
from litebert.files import read_json_object, write_json

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CellPaths:
    """Paths of the cells below the output directory."""

    path: Path

    def validate(self) -> None:
        """Raise CheckpointError for a file, or for a directory with other files."""
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path}: is a file, expected a directory; choose another one")
        names = {file.name for file in self.path.iterdir()} if self.path.is_dir() else set()
        if names - {".lock"} and "cells" not in names:
            raise CheckpointError(f"{self.path}: holds other files; choose a new directory, or one of the same command")

    def run(self, cell: Cell) -> Path:
        """Run directory: weights and logs, which may be deleted once no cell needs them."""
        return self.path / "runs" / cell.key

    def result(self, cell: Cell) -> Path:
        """The few numbers that reports are made of."""
        return self.path / "cells" / f"{cell.key}.json"

    def job(self, cell: Cell) -> Path:
        """The arguments of the worker."""
        return self.path / "jobs" / f"{cell.key}.json"

    def log(self, cell: Cell) -> Path:
        """What the worker logs."""
        return self.path / "logs" / f"{cell.key}.log"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The result of a finished cell; raises CheckpointError for a damaged file."""
        file = self.result(cell)
        if not file.exists():
            return None
        try:
            record = read_json_object(file, if_missing="")
        except CheckpointError:
            record = {}
        if record.get("key") != cell.key or not isinstance(record.get("metrics"), dict):
            raise CheckpointError(
                f"{file}: not the result of {cell.key}; remove it, and the same command runs it again"
            )
        return record


def run_cells(cells: Sequence[Cell], paths: CellPaths, inputs: Inputs, *, jobs: int) -> list[Cell]:
    """Run the cells without a result, each after those that it needs; returns those that failed.

    One after the other in this process, or `jobs` at once in processes of their own, so that one that crashes does not
    stop the others. Raises StoppedBySignalError after a signal, once every running cell has saved its state.
    """
    waiting = needed_cells(cells, paths)
    logger.info("%d of %d cells to run", len(waiting), len(cells))
    run = _run_here if jobs == 1 else partial(_run_in_parallel, jobs=jobs)
    return run(waiting, paths, inputs)


def _run_here(waiting: Sequence[Cell], paths: CellPaths, inputs: Inputs) -> list[Cell]:
    failed: list[Cell] = []
    for number, cell in enumerate(waiting, start=1):
        logger.info("cell %d of %d: %s", number, len(waiting), cell.key)
        if not set(cell.needs) & set(failed):
            try:
                run_job(_job(cell, paths, inputs))
                continue
            except StoppedBySignalError:
                raise
            except LitebertError as error:
                logger.error("%s: %s", cell.key, error)
            except Exception:
                logger.exception("%s: failed", cell.key)
        failed.append(cell)
    return failed


def _run_in_parallel(waiting: list[Cell], paths: CellPaths, inputs: Inputs, *, jobs: int) -> list[Cell]:
    def worker(cell: Cell) -> Worker:
        write_json(paths.job(cell), asdict(_job(cell, paths, inputs)))
        command = ("-m", "litebert.commands.reproduce.worker", str(paths.job(cell)))
        return Worker(cell.key, command, paths.log(cell))

    def ended(cell: Cell, code: int) -> bool:
        if code == 0:
            logger.info("%s: done", cell.key)
            return True
        logger.error("%s: failed; see %s", cell.key, paths.log(cell))
        return False

    message = f"{paths.path}: stopped; the same command resumes"
    return run_workers(waiting, worker, ended, jobs=jobs, stopped=message, needs=lambda cell: cell.needs)


def needed_cells(cells: Sequence[Cell], paths: CellPaths) -> list[Cell]:
    """The cells without a result, and those whose weights they need where these are gone."""
    todo = [cell for cell in cells if paths.read(cell) is None]  # a damaged result is found before anything runs
    for cell in todo:
        for needed in cell.needs:
            if needed not in todo and not (paths.run(needed) / "result.json").exists():
                todo.append(needed)
    return sorted(todo, key=cells.index)


def _job(cell: Cell, paths: CellPaths, inputs: Inputs) -> Job:
    paths.result(cell).parent.mkdir(parents=True, exist_ok=True)
    return Job(
        key=cell.key,
        kind=cell.kind,
        settings=cell.settings,
        models=[str(paths.run(each)) for each in cell.needs],
        run=str(paths.run(cell)),
        corpus=str(inputs.corpus),
        result=str(paths.result(cell)),
    )
