"""Training the trials of a sweep, one after the other or several at once.

Several at once are separate processes with a share of the threads each (`python -m` this module), so that one that
crashes does not stop the others.
"""

import json
import logging
import os
import signal
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
from litebert.commands.sweep.sweep_settings import Trial
from litebert.commands.sweep.trial_results import State, SweepPaths, result_of
from litebert.errors import DivergedError, LitebertError, StoppedBySignalError
from litebert.files import write_json
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.callbacks.progress_display import LogDisplay
from litebert.training.loop.signals import StopSignals

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.2


def train_all(trials: Sequence[Trial], paths: SweepPaths, *, jobs: int, callbacks: Sequence[Callback] = ()) -> None:
    """Train the unfinished trials; the failure of one is recorded and does not stop the others.

    Raises StoppedBySignalError after a signal, once every running trial has saved its state.
    """
    # Diverged trials are left out: they would diverge again.
    waiting = [trial for trial in trials if result_of(trial, paths).state in ("failed", "unfinished")]
    logger.info("training %d of %d trials", len(waiting), len(trials))
    if jobs > 1 and len(waiting) > 1:
        _train_in_parallel(waiting, paths, jobs=min(jobs, len(waiting)))
        return
    for number, trial in enumerate(waiting, start=1):
        logger.info("trial %d of %d: %s", number, len(waiting), trial.name)
        train_one(trial.run, paths.run(trial.name), paths.failure(trial.name), callbacks=callbacks)
        _log_result(trial, paths)


def train_one(run: FinetuneRun, out: Path, failure: Path, *, callbacks: Sequence[Callback] = ()) -> None:
    """Train one trial; an error is written to `failure`, except StoppedBySignalError, which is raised."""
    failure.unlink(missing_ok=True)
    try:
        finetune(run, out, callbacks=callbacks)
    except StoppedBySignalError:
        raise
    except LitebertError as error:
        _write_failure(failure, "diverged" if isinstance(error, DivergedError) else "failed", str(error))
    except Exception as error:
        logger.exception("%s: failed", out)
        _write_failure(failure, "failed", f"{type(error).__name__}: {error}")


def _write_failure(file: Path, state: State, reason: str) -> None:
    write_json(file, {"state": state, "reason": reason})


def _log_result(trial: Trial, paths: SweepPaths) -> None:
    result = result_of(trial, paths)
    if result.state in ("done", "collapsed"):
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in (result.metrics or {}).items())
        logger.info("%s: %s", trial.name, metrics)
    if result.reason:
        logger.warning("%s: %s: %s", trial.name, result.state, result.reason)


@dataclass(frozen=True)
class _Worker:
    trial: Trial
    process: "subprocess.Popen[bytes]"
    slot: int


def _train_in_parallel(waiting: Sequence[Trial], paths: SweepPaths, *, jobs: int) -> None:
    queue, workers = list(waiting), []
    threads = max(1, torch.get_num_threads() // jobs)
    try:
        with StopSignals() as signals:
            while queue or workers:
                workers = [worker for worker in workers if not _has_ended(worker, paths)]
                free = sorted(set(range(jobs)) - {worker.slot for worker in workers})
                while queue and free and not signals.number:
                    workers.append(_start(queue.pop(0), paths, slot=free.pop(0), threads=threads))
                if signals.number:
                    _stop(workers)
                    raise StoppedBySignalError(
                        f"{paths.path}: stopped; every trial has saved its state, the same command resumes them",
                        signal_number=signals.number,
                    )
                time.sleep(_POLL_SECONDS)
    finally:
        _stop(workers)


def _start(trial: Trial, paths: SweepPaths, *, slot: int, threads: int) -> _Worker:
    log = paths.log(trial.name)
    log.parent.mkdir(parents=True, exist_ok=True)
    paths.failure(trial.name).unlink(missing_ok=True)
    arguments = {
        "settings": trial.run.to_dict(),
        "out": str(paths.run(trial.name)),
        "failure": str(paths.failure(trial.name)),
    }
    with log.open("a", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "litebert.commands.sweep.run_trials", json.dumps(arguments)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **worker_env(slot, threads, os.environ, devices=torch.cuda.device_count())},
            # A signal of the terminal reaches only this process, which passes it on once.
            start_new_session=True,
        )
    logger.info("%s: started, log in %s", trial.name, log)
    return _Worker(trial, process, slot)


def worker_env(slot: int, threads: int, environment: Mapping[str, str], *, devices: int) -> dict[str, str]:
    """Environment variables of the worker in `slot`: its number of threads, and its GPU if there are any."""
    variables = {"OMP_NUM_THREADS": str(threads)}
    if devices:
        visible = environment.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(devices)))
        variables["CUDA_VISIBLE_DEVICES"] = visible.split(",")[slot % devices]
    return variables


def _has_ended(worker: _Worker, paths: SweepPaths) -> bool:
    code = worker.process.poll()
    if code is None:
        return False
    trial = worker.trial
    if result_of(trial, paths).state == "unfinished":
        reason = f"its process ended with code {code}; see {paths.log(trial.name)}"
        _write_failure(paths.failure(trial.name), "failed", reason)
    _log_result(trial, paths)
    return True


def _stop(workers: Sequence[_Worker]) -> None:
    """Ask every worker to save its state and end, and wait for them."""
    for worker in workers:
        if worker.process.poll() is None:
            worker.process.terminate()
    for worker in workers:
        worker.process.wait()


class StopWithParent(Callback):
    """Ends the run, with its state saved, when the process that started it has ended."""

    def __init__(self) -> None:
        self._parent = os.getppid()

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Check after every step."""
        if os.getppid() != self._parent:
            os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Train the trial whose settings are the first argument, as JSON; the exit code is 0 unless a signal stopped it."""
    arguments = json.loads(sys.argv[1])
    log_to_stderr(os.environ.get("LITEBERT_LOG", "info"))
    run = FinetuneRun.parse(arguments["settings"], where="sweep")
    out, failure = Path(arguments["out"]), Path(arguments["failure"])
    try:
        train_one(run, out, failure, callbacks=[LogDisplay(), StopWithParent()])
    except StoppedBySignalError as stopped:
        return stopped.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
