"""Fine-tuning runs of several benchmarks at the same time, each in a process with its share of the threads."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.sweep import run_trials
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import CheckpointError
from litebert.files import read_json_object

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamedRun:
    """A run, with a name for its log lines and files."""

    name: str
    settings: FinetuneRun
    directory: Path


def train_in_parallel(runs: Sequence[NamedRun], out: Path, *, jobs: int) -> None:
    """Train the runs, `jobs` at once. Logs are in `out/logs`, reasons of failures in `out/failures`.

    Raises:
        CheckpointError: if one failed, once all others are finished.
        StoppedBySignalError: after a signal, once every running one has saved its state.
    """
    logger.info("training %d runs, %d at once", len(runs), min(jobs, len(runs)))

    def worker(run: NamedRun) -> Worker:
        failure = _failure(out, run)
        failure.unlink(missing_ok=True)
        arguments = {"settings": run.settings.to_dict(), "out": str(run.directory), "failure": str(failure)}
        return Worker(run.name, run_trials.__name__, json.dumps(arguments), _log(out, run))

    def ended(run: NamedRun, code: int) -> bool:
        succeeded = code == 0 and not _failure(out, run).exists()
        logger.log(
            logging.INFO if succeeded else logging.WARNING, "%s: %s", run.name, "done" if succeeded else "failed"
        )
        return succeeded

    message = f"{out}: stopped; every run has saved its state, the same command resumes them"
    failed = run_workers(runs, worker, ended, jobs=min(jobs, len(runs)), stopped=message)
    if failed:
        first = failed[0]
        raise CheckpointError(
            f"{out}: {len(failed)} of {len(runs)} runs failed, {', '.join(run.name for run in failed)}; the first: "
            f"{_reason(out, first)}. Its log is {_log(out, first)}; the same command trains only these again"
        )


def _reason(out: Path, run: NamedRun) -> str:
    failure = _failure(out, run)
    return (
        str(read_json_object(failure, if_missing="run the command again")["reason"])
        if failure.exists()
        else "its process was killed"
    )


def _failure(out: Path, run: NamedRun) -> Path:
    return out / "failures" / f"{run.name}.json"


def _log(out: Path, run: NamedRun) -> Path:
    return out / "logs" / f"{run.name}.log"
