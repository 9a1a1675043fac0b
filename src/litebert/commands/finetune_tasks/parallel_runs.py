"""Fine-tuning runs of several benchmarks at the same time, each in a process with its share of the threads."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.finetune.earlier_run import open_directory
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune_worker import Failure, RunFiles, finetune_worker
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import LitebertError

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
        "The tasks of these runs are not in the result; the same command trains them again"
    )


def _name(out: Path, run: RunOfTask) -> str:
    """Such as `compared/initialization/cola/seed=0`."""
    return run.directory.relative_to(out).as_posix()
