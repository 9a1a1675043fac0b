"""One run of a sweep in a process of its own. Before: `sweep_training` starts it. After: a run directory, or a failure.

The settings are its argument, as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.sweep.run_trials import train_one
from litebert.errors import StoppedBySignalError
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.callbacks.progress_display import LogDisplay


class LeaveWithParent(Callback):
    """Ends the run, its state saved, when the process that started it is gone: nobody would wait for its end."""

    def __init__(self) -> None:
        self._parent = os.getppid()

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Look after every step."""
        if os.getppid() != self._parent:
            os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Train; the exit code is that of a signal if one came, else 0, also for a run that failed."""
    order = json.loads(sys.argv[1])
    log_to_stderr(os.environ.get("LITEBERT_LOG", "info"))
    run = FinetuneRun.parse(order["settings"], where="sweep")
    try:
        train_one(run, Path(order["out"]), Path(order["failure"]), callbacks=[LogDisplay(), LeaveWithParent()])
    except StoppedBySignalError as stopped:
        return stopped.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
