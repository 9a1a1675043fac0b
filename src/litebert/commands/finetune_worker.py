"""Fine-tuning runs in processes of their own, and the files that tell what became of them.

A run that fails writes its reason and does not stop the others. `python -m` this module trains one run.
"""

import json
import logging
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from litebert.commands.finetune.earlier_run import validate_same_rows, validate_same_weights
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.worker_processes import Worker
from litebert.errors import CheckpointError, DivergedError, LitebertError, StoppedBySignalError
from litebert.files import read_json_object, write_json
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback
from litebert.training.callbacks.progress_display import LogDisplay
from litebert.training.callbacks.stop_with_parent import StopWithParent

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunFiles:
    """Where a command that trains several runs keeps their failures and logs."""

    path: Path

    def failure(self, name: str) -> Path:
        """JSON file with the reason why a run failed; absent if it did not."""
        return self.path / "failures" / f"{name}.json"

    def log(self, name: str) -> Path:
        """Log of a run that was trained in a process of its own."""
        return self.path / "logs" / f"{name}.log"


@dataclass(frozen=True)
class Failure:
    """Why a run has no result."""

    state: Literal["diverged", "failed"]
    """Diverged: its loss became infinite or NaN."""
    reason: str

    def write(self, file: Path) -> None:
        """Write it as JSON."""
        write_json(file, asdict(self))

    @classmethod
    def read(cls, file: Path) -> "Failure | None":
        """That of a file; None if there is none. Raises CheckpointError for a damaged file."""
        if not file.exists():
            return None
        advice = "remove it, and run the command again"
        values = read_json_object(file, if_missing=advice)
        if values.keys() != {"state", "reason"}:
            raise CheckpointError(f"{file}: is no record of a failure; {advice}")
        return cls(**values)


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
    """Train `run` in `out`; an error is written to `failure`, except StoppedBySignalError, which is raised."""
    failure.unlink(missing_ok=True)
    try:
        finetune(run, out, callbacks=callbacks)
    except StoppedBySignalError:
        raise
    except LitebertError as error:
        Failure("diverged" if isinstance(error, DivergedError) else "failed", str(error)).write(failure)
    except Exception as error:
        logger.exception("%s: failed", out)
        Failure("failed", f"{type(error).__name__}: {error}").write(failure)


def finetune_worker(name: str, run: FinetuneRun, out: Path, files: RunFiles) -> Worker:
    """The process that trains `run` in `out`; its earlier failure is removed."""
    failure = files.failure(name)
    failure.unlink(missing_ok=True)
    arguments = {"settings": run.to_dict(), "out": str(out), "failure": str(failure)}
    return Worker(name, ("-m", __name__, json.dumps(arguments)), files.log(name))


def main() -> int:
    """Train the run whose settings are the first argument, as JSON; the exit code is 0 unless a signal stopped it."""
    arguments = json.loads(sys.argv[1])
    log_to_stderr()
    run = FinetuneRun.parse(arguments["settings"], where="settings of a worker process")
    out, failure = Path(arguments["out"]), Path(arguments["failure"])
    try:
        train_one(run, out, failure, callbacks=[LogDisplay(), StopWithParent()])
    except StoppedBySignalError as stopped:
        return stopped.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
