"""Where numbers go: `metrics.jsonl` always; tensorboard, wandb and trackio if asked.

Before: `trainer.py` logs. After: curves.
"""

import contextlib
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from litebert.errors import MissingExtraError
from litebert.files import translate_os_errors, write_bytes
from litebert.training.protocols import Number, Tracker
from litebert.training.train_settings import TrackerName

logger = logging.getLogger(__name__)


class MetricsFile:
    """One JSON object a line: the step and its values, with every digit (a value that is not finite is null).

    Opened at step s it first drops the lines after s, which a killed run wrote after its last checkpoint.
    """

    def __init__(self, path: Path, *, step: int) -> None:
        self._path = path
        with translate_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _drop_after(path, step)
            self._file = path.open("ab", buffering=0)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """Append one line."""
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        line = json.dumps({"step": step, **finite}).encode() + b"\n"
        with translate_os_errors(self._path, needed=len(line)):
            while line:  # a disk that is nearly full takes a part, and refuses the rest
                line = line[self._file.write(line) :]

    def rewind(self, step: int) -> None:
        """Take back the lines after `step`."""
        self._file.close()
        with translate_os_errors(self._path):
            _drop_after(self._path, step)
            self._file = self._path.open("ab", buffering=0)

    def flush(self) -> None:
        """Make the lines so far durable; before a checkpoint, so that none before it can be missing."""
        with translate_os_errors(self._path):
            os.fsync(self._file.fileno())

    def finish(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoard:
    """Event files for tensorboard, below `tensorboard/` in the run directory."""

    def __init__(self, directory: Path, *, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=step + 1)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One scalar a value."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Write what is left."""
        self._writer.close()


class WeightsAndBiases:
    """A wandb run that a resumed run goes on with; its project and login come from wandb's environment variables."""

    def __init__(self, directory: Path, *, step: int) -> None:
        import wandb  # pyrefly: ignore[missing-import]

        name = directory.resolve().name
        self._run = wandb.init(dir=directory, id=name, name=name, resume="allow" if step else None)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One point of every curve."""
        self._run.log(dict(values), step=step)

    def finish(self) -> None:
        """Wait until the numbers are sent."""
        self._run.finish()


class Trackio:
    """A trackio run, kept on this machine; a resumed run goes on with it. Its project comes from TRACKIO_PROJECT."""

    def __init__(self, directory: Path, *, step: int) -> None:
        import trackio  # pyrefly: ignore[missing-import]

        project = os.environ.get("TRACKIO_PROJECT", "litebert")
        name = directory.resolve().name
        quiet = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
        self._run = trackio.init(project=project, name=name, resume="allow" if step else "never", **quiet)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One point of every curve."""
        self._run.log(dict(values), step=step)

    def finish(self) -> None:
        """Wait until the numbers are kept."""
        self._run.finish()


class FailSafeTracker:
    """A tracker whose failures are warned of once and never stop the run."""

    def __init__(self, name: str, make: Callable[[], Tracker]) -> None:
        self._name = name
        self._tracker: Tracker | None = None
        self._attempt(lambda: setattr(self, "_tracker", make()))

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """Pass on, unless the tracker has failed."""
        tracker = self._tracker
        if tracker is not None:
            self._attempt(lambda: tracker.log(step, values))

    def finish(self) -> None:
        """Pass on, unless the tracker has failed."""
        tracker = self._tracker
        if tracker is not None:
            self._attempt(tracker.finish)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
                action()
        except Exception as error:  # its library may raise anything, and no curve is worth a run
            logger.warning("%s failed and gets no more numbers: %s", self._name, error)
            self._tracker = None


_TRACKERS: dict[TrackerName, Callable[..., Any]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "trackio": Trackio,
}


_MODULES: dict[TrackerName, str] = {
    "tensorboard": "torch.utils.tensorboard",
    "wandb": "wandb",
    "trackio": "trackio",
}


def require_trackers(names: Iterable[TrackerName]) -> None:
    """Raise a MissingExtraError unless each of them is installed; called before a run writes anything."""
    for name in names:
        try:
            import_module(_MODULES[name])
        except ImportError:
            raise MissingExtraError(name, extra=name, needed_for=f"the {name} tracker") from None


def open_tracker(name: TrackerName, directory: Path, *, step: int) -> Tracker:
    """The named tracker for a run in `directory` that stands at `step`; its failures stop nothing."""
    return FailSafeTracker(name, lambda: _TRACKERS[name](directory, step=step))


def _drop_after(path: Path, step: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    kept = [line for line in lines if _step_of(line) <= step]
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _step_of(line: bytes) -> Number:
    """The step of a line; infinity for what a process had only begun to write when it was killed."""
    try:
        return json.loads(line)["step"] if line.endswith(b"\n") else math.inf
    except (ValueError, TypeError, KeyError):
        return math.inf
