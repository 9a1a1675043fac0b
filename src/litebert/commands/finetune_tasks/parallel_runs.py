"""Fine-tuning runs of several benchmarks, here or at the same time in processes with their share of the threads."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.finetune.earlier_run import open_directory
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune_worker import Failure, RunFiles, finetune_worker
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import DivergedError, LitebertError
from litebert.training.callbacks.callback import Callback

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunOfTask:
    """A run, with the task that it belongs to."""

    task: str
    settings: FinetuneRun
    directory: Path

    @property
    def finished(self) -> bool:
        """Whether it has a result, with these settings."""
        return open_directory(self.settings, self.directory).result(FinetuneResult) is not None

    @property
    def scored(self) -> FinetuneResult | None:
        """Its result; None if it failed, or if its scores are no numbers."""
        result = RunDirectory(self.directory).result(FinetuneResult)
        return result if result is not None and result.best.evaluation.has_scores else None


def train_here(run: RunOfTask, out: Path, *, callbacks: Sequence[Callback]) -> None:
    """Train the run, if it is not finished; that it diverged is recorded and does not stop the others.

    Other errors are raised: processes of `torchrun` wait for each other, and only a divergence is seen by all of them.
    """
    failure = RunFiles(out).failure(_name(out, run))
    failure.unlink(missing_ok=True)
    try:
        finetune(run.settings, run.directory, callbacks=callbacks)
    except DivergedError as error:
        logger.warning("%s: diverged: %s", run.directory, error)
        Failure("diverged", str(error)).write(failure)


def train_in_parallel(runs: Sequence[RunOfTask], out: Path, *, jobs: int) -> list[RunOfTask]:
    """Train the runs, `jobs` at once, and return those that failed.

    Logs are in `out/logs`, reasons of failures in `out/failures`.

    Raises:
        StoppedBySignalError: after a signal, once every running one has saved its state.
    """
    logger.info("training %d runs, %d at once", len(runs), min(jobs, len(runs)))

    files = RunFiles(out)

    def worker(run: RunOfTask) -> Worker:
        return finetune_worker(_name(out, run), run.settings, run.directory, files)

    def ended(run: RunOfTask, code: int) -> bool:
        name = _name(out, run)
        failure = Failure.read(files.failure(name))
        if code == 0 and failure is None and run.finished:
            logger.info("%s: done", name)
            return True
        if failure is None:
            failure = Failure("failed", f"its process ended with code {code}")
            failure.write(files.failure(name))
        logger.warning("%s: failed: %s; its log is %s", name, failure.reason, files.log(name))
        return False

    message = f"{out}: stopped; every run has saved its state, the same command resumes them"
    return run_workers(runs, worker, ended, jobs=min(jobs, len(runs)), stopped=message)


def failure_of(failed: Sequence[RunOfTask], out: Path) -> LitebertError:
    """The error about runs that failed."""
    names, files = [_name(out, run) for run in failed], RunFiles(out)
    failure = Failure.read(files.failure(names[0]))
    reason = failure.reason if failure else "unknown, its record was removed"
    return LitebertError(
        f"{out}: {len(failed)} runs failed: {', '.join(names)}. The first: {reason}; its log is {files.log(names[0])}. "
        "The same command trains them again"
    )


def reasons_of(runs: Iterable[RunOfTask], out: Path) -> dict[str, str]:
    """Name → why it has no scores, for each run that has none."""
    found = {_name(out, run): run.scored is None for run in runs}
    failures = {name: Failure.read(RunFiles(out).failure(name)) for name, failed in found.items() if failed}
    return {name: each.reason if each else "no score of it is a number" for name, each in failures.items()}


def _name(out: Path, run: RunOfTask) -> str:
    """Such as `compared/initialization/cola/seed=0`."""
    return run.directory.relative_to(out).as_posix()
