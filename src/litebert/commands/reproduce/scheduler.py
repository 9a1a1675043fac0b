"""Running cells: each in a process of its own, several at once, resumed after any interruption."""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from litebert.commands.reproduce.cells import Cell, Inputs
from litebert.commands.reproduce.worker import Job, run_job
from litebert.commands.sweep.run_trials import worker_env
from litebert.errors import CheckpointError, LitebertError, StoppedBySignalError
from litebert.files import write_json
from litebert.training.loop.signals import StopSignals

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True)
class CellPaths:
    """Paths of the cells below the output directory."""

    path: Path

    def validate(self) -> None:
        """Raise CheckpointError for a directory with other files."""
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
        """The result of a finished cell."""
        file = self.result(cell)
        return json.loads(file.read_bytes()) if file.exists() else None


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
            except StoppedBySignalError:
                raise
            except LitebertError as error:
                logger.error("%s: %s", cell.key, error)
            except Exception:
                logger.exception("%s: failed", cell.key)
        if not paths.result(cell).exists():
            failed.append(cell)
    return failed


def _run_in_parallel(waiting: list[Cell], paths: CellPaths, inputs: Inputs, *, jobs: int) -> list[Cell]:
    failed: list[Cell] = []
    workers: dict[Cell, tuple[subprocess.Popen[bytes], int]] = {}
    threads = max(1, torch.get_num_threads() // jobs)
    try:
        with StopSignals() as signals:
            while waiting or workers:
                ended = [cell for cell, (process, _) in workers.items() if process.poll() is not None]
                for cell in ended:
                    del workers[cell]
                    failed += _finish(cell, paths)
                if signals.number:
                    _stop([process for process, _ in workers.values()])
                    message = f"{paths.path}: stopped; the same command resumes"
                    raise StoppedBySignalError(message, signal_number=signals.number)
                for cell in list(waiting):
                    if set(cell.needs) & set(failed):
                        waiting.remove(cell)
                        failed.append(cell)
                ready = [cell for cell in waiting if not set(cell.needs) & {*waiting, *workers}]
                free = set(range(jobs)) - {slot for _, slot in workers.values()}
                for cell, slot in zip(ready, sorted(free), strict=False):
                    waiting.remove(cell)
                    workers[cell] = (_start(cell, paths, inputs, slot=slot, threads=threads), slot)
                time.sleep(_POLL_SECONDS)
    finally:
        _stop([process for process, _ in workers.values()])
    return failed


def needed_cells(cells: Sequence[Cell], paths: CellPaths) -> list[Cell]:
    """The cells without a result, and those whose weights they need where these are gone."""
    todo = [cell for cell in cells if not paths.result(cell).exists()]
    for cell in todo:
        for needed in cell.needs:
            if needed not in todo and not _has_model(needed, paths):
                todo.append(needed)
    return sorted(todo, key=cells.index)


def _has_model(cell: Cell, paths: CellPaths) -> bool:
    return (paths.run(cell) / "result.json").exists()


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


def _start(cell: Cell, paths: CellPaths, inputs: Inputs, *, slot: int, threads: int) -> "subprocess.Popen[bytes]":
    job = _job(cell, paths, inputs)
    paths.job(cell).parent.mkdir(parents=True, exist_ok=True)
    write_json(paths.job(cell), asdict(job))
    paths.log(cell).parent.mkdir(parents=True, exist_ok=True)
    logger.info("%s: started, log in %s", cell.key, paths.log(cell))
    with paths.log(cell).open("a", encoding="utf-8") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "litebert.commands.reproduce.worker", str(paths.job(cell))],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **worker_env(slot, threads, os.environ, devices=torch.cuda.device_count())},
            start_new_session=True,  # a signal of the terminal reaches the scheduler only, which passes it on
        )


def _finish(cell: Cell, paths: CellPaths) -> list[Cell]:
    """The cell, if it failed."""
    if paths.result(cell).exists():
        logger.info("%s: done", cell.key)
        return []
    logger.error("%s: failed; see %s", cell.key, paths.log(cell))
    return [cell]


def _stop(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        process.wait()
