"""Fine-tuning runs of several benchmarks at the same time, each in a process with its share of the threads."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.finetune.earlier_run import open_directory
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.sweep.run_trials import trial_worker
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import LitebertError
from litebert.files import read_json_object, write_json

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

    def worker(run: RunOfTask) -> Worker:
        files = {"failure": _failure(out, run), "log": _log(out, run)}
        return trial_worker(_name(out, run), run.settings, run.directory, **files)

    def ended(run: RunOfTask, code: int) -> bool:
        failure = _failure(out, run)
        if code == 0 and not failure.exists() and run.finished:
            logger.info("%s: done", _name(out, run))
            return True
        if not failure.exists():
            write_json(failure, {"state": "failed", "reason": f"its process ended with code {code}"})
        logger.warning("%s: failed: %s; its log is %s", _name(out, run), _reason(out, run), _log(out, run))
        return False

    message = f"{out}: stopped; every run has saved its state, the same command resumes them"
    return run_workers(runs, worker, ended, jobs=min(jobs, len(runs)), stopped=message)


def failure_of(failed: Sequence[RunOfTask], out: Path) -> LitebertError:
    """The error about runs that failed."""
    first = failed[0]
    names = ", ".join(_name(out, run) for run in failed)
    return LitebertError(
        f"{out}: {len(failed)} runs failed: {names}. The first: {_reason(out, first)}; its log is {_log(out, first)}. "
        "The tasks of these runs are not in the result; the same command trains them again"
    )


def _reason(out: Path, run: RunOfTask) -> str:
    return str(read_json_object(_failure(out, run), if_missing="run the command again")["reason"])


def _name(out: Path, run: RunOfTask) -> str:
    """Such as `compared/initialization/cola/seed=0`."""
    return run.directory.relative_to(out).as_posix()


def _failure(out: Path, run: RunOfTask) -> Path:
    return out / "failures" / f"{_name(out, run)}.json"


def _log(out: Path, run: RunOfTask) -> Path:
    return out / "logs" / f"{_name(out, run)}.log"
