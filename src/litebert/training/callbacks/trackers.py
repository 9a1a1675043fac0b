"""Places for metrics: `metrics.jsonl`, TensorBoard, Weights & Biases, Trackio."""

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
    """One JSON object a line: the step and its values with all digits; a value that is not finite is null.

    Opened at step s, it first removes the lines after s, which a killed run wrote after its last checkpoint.
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
        """Remove the lines after `step`."""
        self._file.close()
        with translate_os_errors(self._path):
            _drop_after(self._path, step)
            self._file = self._path.open("ab", buffering=0)

    def flush(self) -> None:
        """Make the lines so far durable."""
        with translate_os_errors(self._path):
            os.fsync(self._file.fileno())

    def finish(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoard:
    """TensorBoard event files in `tensorboard/` of the run directory."""

    def __init__(self, directory: Path, *, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=step + 1)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One scalar for each value."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Write the remaining events."""
        self._writer.close()


class WeightsAndBiases:
    """A wandb run, continued when the run is resumed; wandb's environment variables set project and login."""

    def __init__(self, directory: Path, *, step: int) -> None:
        import wandb  # pyrefly: ignore[missing-import]

        name = directory.resolve().name
        self._run = wandb.init(dir=directory, id=name, name=name, resume="allow" if step else None)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One point for each value."""
        self._run.log(dict(values), step=step)

    def finish(self) -> None:
        """Wait until the metrics are sent."""
        self._run.finish()


class Trackio:
    """A trackio run on this machine, continued when the run is resumed; TRACKIO_PROJECT names the project."""

    def __init__(self, directory: Path, *, step: int) -> None:
        import trackio  # pyrefly: ignore[missing-import]

        project = os.environ.get("TRACKIO_PROJECT", "litebert")
        name = directory.resolve().name
        quiet = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
        self._run = trackio.init(project=project, name=name, resume="allow" if step else "never", **quiet)

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """One point for each value."""
        self._run.log(dict(values), step=step)

    def finish(self) -> None:
        """Wait until the metrics are stored."""
        self._run.finish()


class FailSafeTracker:
    """A tracker whose first failure is a warning and its end; it never stops the run."""

    def __init__(self, name: str, make: Callable[[], Tracker]) -> None:
        self._name = name
        self._tracker: Tracker | None = None
        self._attempt(lambda: setattr(self, "_tracker", make()))

    def log(self, step: int, values: Mapping[str, Number]) -> None:
        """Call the tracker, unless it has failed."""
        tracker = self._tracker
        if tracker is not None:
            self._attempt(lambda: tracker.log(step, values))

    def finish(self) -> None:
        """Call the tracker, unless it has failed."""
        tracker = self._tracker
        if tracker is not None:
            self._attempt(tracker.finish)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
                action()
        except Exception as error:  # its library may raise anything, and the run must not fail for it
            logger.warning("%s failed and gets no more metrics: %s", self._name, error)
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
    """The named tracker for a run in `directory` at `step`; its failures do not stop the run."""
    return FailSafeTracker(name, lambda: _TRACKERS[name](directory, step=step))


def _drop_after(path: Path, step: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    kept = [line for line in lines if _step_of(line) <= step]
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _step_of(line: bytes) -> Number:
    """The step of a line; infinity for a line that a killed process wrote in part."""
    try:
        return json.loads(line)["step"] if line.endswith(b"\n") else math.inf
    except (ValueError, TypeError, KeyError):
        return math.inf
