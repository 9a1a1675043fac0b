"""Training the trials of a sweep, one after the other or several at once.

Several at once are separate processes with a share of the threads each, so that one that crashes does not stop the
others.
"""

import logging
from collections.abc import Sequence

from litebert.commands.finetune_worker import Failure, finetune_worker, train_one, validate_same_inputs
from litebert.commands.sweep.sweep_settings import Trial
from litebert.commands.sweep.trial_results import SweepPaths, result_of
from litebert.commands.worker_processes import Worker, run_workers
from litebert.training.callbacks.callback import Callback

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
        train_one(trial.run, paths.run(trial.name), paths.files.failure(trial.name), callbacks=callbacks)
        _log_result(trial, paths)


def _log_result(trial: Trial, paths: SweepPaths) -> None:
    result = result_of(trial, paths)
    if result.state in ("done", "collapsed"):
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in (result.metrics or {}).items())
        logger.info("%s: %s", trial.name, metrics)
    if result.reason:
        logger.warning("%s: %s: %s", trial.name, result.state, result.reason)


def _train_in_parallel(waiting: Sequence[Trial], paths: SweepPaths, *, jobs: int) -> None:
    files = paths.files

    def worker(trial: Trial) -> Worker:
        return finetune_worker(trial.name, trial.run, paths.run(trial.name), files)

    def ended(trial: Trial, code: int) -> bool:
        if result_of(trial, paths).state == "unfinished":
            reason = f"its process ended with code {code}; see {files.log(trial.name)}"
            Failure("failed", reason).write(files.failure(trial.name))
        _log_result(trial, paths)
        return True

    message = f"{paths.path}: stopped; every trial has saved its state, the same command resumes them"
    run_workers(waiting, worker, ended, jobs=jobs, stopped=message)
