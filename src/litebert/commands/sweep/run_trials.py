"""Training the trials of a sweep, one after the other or several at once.

Several at once are separate processes with a share of the threads each (`python -m` this module), so that one that
crashes does not stop the others.
"""

import json
import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from litebert.commands.finetune.earlier_run import validate_same_rows, validate_same_weights
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.sweep.sweep_settings import Trial
from litebert.commands.sweep.trial_results import State, SweepPaths, result_of
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import DivergedError, LitebertError, StoppedBySignalError
from litebert.files import write_json
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.progress_display import LogDisplay
from litebert.training.callbacks.stop_with_parent import StopWithParent

logger = logging.getLogger(__name__)


def train_all(trials: Sequence[Trial], paths: SweepPaths, *, jobs: int, callbacks: Sequence[Callback] = ()) -> None:
    """Train the unfinished trials; the failure of one is recorded and does not stop the others.

    Raises StoppedBySignalError after a signal, once every running trial has saved its state, and CheckpointError if
    the data or the model are not those of the finished trials.
    """
    validate_same_inputs((trial.run, paths.run(trial.name)) for trial in trials)
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


def validate_same_inputs(runs: Iterable[tuple[FinetuneRun, Path]]) -> None:
    """Raise CheckpointError if a finished run had other rows or initial weights; each file and model is read once."""
    read = []
    models = set()
    for run, out in runs:
        result = RunDirectory(out).result(FinetuneResult)
        if result and run.data not in read:
            validate_same_rows(run, result, out)
            read.append(run.data)
        if result and result.model_fingerprint and run.model not in models:
            validate_same_weights(run, result, out)
            models.add(run.model)


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


def _train_in_parallel(waiting: Sequence[Trial], paths: SweepPaths, *, jobs: int) -> None:
    def worker(trial: Trial) -> Worker:
        out, failure = paths.run(trial.name), paths.failure(trial.name)
        return trial_worker(trial.name, trial.run, out, failure=failure, log=paths.log(trial.name))

    def ended(trial: Trial, code: int) -> bool:
        if result_of(trial, paths).state == "unfinished":
            reason = f"its process ended with code {code}; see {paths.log(trial.name)}"
            _write_failure(paths.failure(trial.name), "failed", reason)
        _log_result(trial, paths)
        return True

    message = f"{paths.path}: stopped; every trial has saved its state, the same command resumes them"
    run_workers(waiting, worker, ended, jobs=jobs, stopped=message)


def trial_worker(name: str, run: FinetuneRun, out: Path, *, failure: Path, log: Path) -> Worker:
    """The process that trains `run` in `out` and writes an error to `failure`; an earlier one is removed."""
    failure.unlink(missing_ok=True)
    arguments = {"settings": run.to_dict(), "out": str(out), "failure": str(failure)}
    return Worker(name, ("-m", __name__, json.dumps(arguments)), log)


def main() -> int:
    """Train the trial whose settings are the first argument, as JSON; the exit code is 0 unless a signal stopped it."""
    arguments = json.loads(sys.argv[1])
    log_to_stderr()
    run = FinetuneRun.parse(arguments["settings"], where="sweep")
    out, failure = Path(arguments["out"]), Path(arguments["failure"])
    try:
        train_one(run, out, failure, callbacks=[LogDisplay(), StopWithParent()])
    except StoppedBySignalError as stopped:
        return stopped.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
