"""The runs of a sweep, one after the other or several at once. Before: `sweep_grid`. After: their run directories.

Several at once are processes of their own with a part of the threads each, so that one that dies takes nothing along.
"""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.sweep.trial_results import State, SweepPaths, result_of
from litebert.commands.sweep.trials import Trial
from litebert.errors import DivergedError, LitebertError, StoppedBySignalError
from litebert.files import write_json
from litebert.training.callbacks.callback import Callback
from litebert.training.loop.signals import StopSignals

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.2


def train_all(cells: Sequence[Trial], places: SweepPaths, *, jobs: int, callbacks: Sequence[Callback] = ()) -> None:
    """Train what is not finished yet; a run that fails is noted and does not stop the others.

    Raises StoppedBySignalError when a signal asks to stop; every run has then saved its state.
    """
    # What diverged would do so again.
    waiting = [cell for cell in cells if result_of(cell, places).state in ("failed", "unfinished")]
    logger.info("%d of %d runs are to be trained", len(waiting), len(cells))
    if jobs > 1 and len(waiting) > 1:
        _side_by_side(waiting, places, jobs=min(jobs, len(waiting)))
        return
    for number, cell in enumerate(waiting, start=1):
        logger.info("run %d of %d: %s", number, len(waiting), cell.name)
        train_one(cell.run, places.run(cell.name), places.failure(cell.name), callbacks=callbacks)
        _tell(cell, places)


def train_one(run: FinetuneRun, out: Path, failure: Path, *, callbacks: Sequence[Callback] = ()) -> None:
    """Train one run; what goes wrong with it is written to `failure`, but for a signal to stop."""
    failure.unlink(missing_ok=True)
    try:
        finetune(run, out, callbacks=callbacks)
    except StoppedBySignalError:
        raise
    except LitebertError as error:
        _note(failure, "diverged" if isinstance(error, DivergedError) else "failed", str(error))
    except Exception as error:
        logger.exception("%s: failed", out)
        _note(failure, "failed", f"{type(error).__name__}: {error}")


def _note(failure: Path, state: State, reason: str) -> None:
    write_json(failure, {"state": state, "reason": reason})


@dataclass(frozen=True)
class _Running:
    cell: Trial
    process: "subprocess.Popen[bytes]"
    slot: int


def _side_by_side(waiting: Sequence[Trial], places: SweepPaths, *, jobs: int) -> None:
    queue, running = list(waiting), []
    threads = max(1, torch.get_num_threads() // jobs)
    try:
        with StopSignals() as signals:
            while queue or running:
                running = [each for each in running if not _has_ended(each, places)]
                free = sorted(set(range(jobs)) - {each.slot for each in running})
                while queue and free and not signals.number:
                    running.append(_start(queue.pop(0), places, slot=free.pop(0), threads=threads))
                if signals.number:
                    _stop(running)
                    raise StoppedBySignalError(
                        f"{places.path}: stopped, with every run saved; the same command goes on from there",
                        signal_number=signals.number,
                    )
                time.sleep(_POLL_SECONDS)
    finally:
        _stop(running)


def _start(cell: Trial, places: SweepPaths, *, slot: int, threads: int) -> _Running:
    log = places.log(cell.name)
    log.parent.mkdir(parents=True, exist_ok=True)
    places.failure(cell.name).unlink(missing_ok=True)
    order = {
        "settings": cell.run.to_dict(),
        "out": str(places.run(cell.name)),
        "failure": str(places.failure(cell.name)),
    }
    with log.open("a", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "litebert.commands.sweep.worker", json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **worker_env(slot, threads, os.environ, devices=torch.cuda.device_count())},
            # A signal of the terminal comes to this process, which passes it on once.
            start_new_session=True,
        )
    logger.info("%s: started, log in %s", cell.name, log)
    return _Running(cell, process, slot)


def worker_env(slot: int, threads: int, environment: Mapping[str, str], *, devices: int) -> dict[str, str]:
    """Variables of the process in place `slot` of those at work: its threads, and a GPU where there are any."""
    variables = {"OMP_NUM_THREADS": str(threads)}
    if devices:
        visible = environment.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(devices)))
        variables["CUDA_VISIBLE_DEVICES"] = visible.split(",")[slot % devices]
    return variables


def _has_ended(each: _Running, places: SweepPaths) -> bool:
    code = each.process.poll()
    if code is None:
        return False
    if result_of(each.cell, places).state == "unfinished":
        log = places.log(each.cell.name)
        _note(places.failure(each.cell.name), "failed", f"its process ended with code {code}; see {log}")
    _tell(each.cell, places)
    return True


def _stop(running: Sequence[_Running]) -> None:
    """Ask every process to save and leave, and wait until they have."""
    for each in running:
        if each.process.poll() is None:
            each.process.terminate()
    for each in running:
        each.process.wait()


def _tell(cell: Trial, places: SweepPaths) -> None:
    outcome = result_of(cell, places)
    if outcome.state in ("done", "collapsed"):
        figures = ", ".join(f"{name} {value:.4f}" for name, value in (outcome.metrics or {}).items())
        logger.info("%s: %s", cell.name, figures)
    if outcome.reason:
        logger.warning("%s: %s: %s", cell.name, outcome.state, outcome.reason)
