"""Metric logging: to `metrics.jsonl` always, to experiment trackers if the settings name some."""

import contextlib
import hashlib
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from litebert.errors import import_extra
from litebert.files import translate_os_errors, write_bytes
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.protocols import Number, Tracker
from litebert.training.train_settings import TrackerName

logger = logging.getLogger(__name__)


class MetricLogger(Callback):
    """Writes `train/<name>` of the steps that `log_every` selects, and `evaluation/<name>` of every evaluation."""

    def __init__(self) -> None:
        self._metrics: MetricsFile | None = None
        self._trackers: list[Tracker] = []

    def on_train_begin(self, run: RunState) -> None:
        """Open the trackers, and the file without what the run does again."""
        step = run.progress.step
        names = run.schedule.settings.trackers
        self._trackers = [open_tracker(name, run.directory, step=step) for name in names]
        self._metrics = MetricsFile(run.directory / "metrics.jsonl", step=step, evaluated=not run.evaluation_due)
        self._trackers.insert(0, self._metrics)

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Log the metrics of the step if it is due."""
        if run.schedule.logs(run.progress):
            self._log("train", record.step, record.metrics)

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Log the metrics of the evaluation."""
        self._log("evaluation", run.progress.step, metrics)

    def on_rollback(self, run: RunState) -> None:
        """Remove the lines after the checkpoint."""
        if self._metrics:
            self._metrics.rewind(run.progress.step)

    def on_train_end(self, run: RunState) -> None:
        """Close the file and the trackers."""
        for tracker in self._trackers:
            tracker.finish()

    def flush(self) -> None:
        """Make the lines so far durable, so that no checkpoint is newer than they are."""
        if self._metrics:
            self._metrics.flush()

    def _log(self, kind: str, step: int, metrics: Mapping[str, Number]) -> None:
        for tracker in self._trackers:
            tracker.log({f"{kind}/{name}": value for name, value in metrics.items()}, step)


class MetricsFile:
    """One JSON object a line: the step and its values with all digits; a value that is not finite is null.

    Opened at step s, it first removes the lines after s, which a killed run wrote after its last checkpoint; also an
    evaluation at s, unless `evaluated`.
    """

    def __init__(self, path: Path, *, step: int, evaluated: bool = True) -> None:
        self._path = path
        with translate_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _drop_after(path, (step, evaluated))
            self._file = path.open("ab", buffering=0)

    def log(self, values: Mapping[str, Number], step: int) -> None:
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
            _drop_after(self._path, (step, True))
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

    def log(self, values: Mapping[str, Number], step: int) -> None:
        """One scalar for each value."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Write the remaining events."""
        self._writer.close()


def _wandb(directory: Path, *, step: int) -> Tracker:
    """A wandb run, continued when the run is resumed; wandb's environment variables set project and login."""
    import wandb  # pyrefly: ignore[missing-import]

    name = directory.resolve().name
    return wandb.init(dir=directory, id=_run_id(directory), name=name, resume="allow" if step else None)


def _trackio(directory: Path, *, step: int) -> Tracker:
    """A trackio run on this machine, continued when the run is resumed; TRACKIO_PROJECT names the project."""
    import trackio  # pyrefly: ignore[missing-import]

    project = os.environ.get("TRACKIO_PROJECT", "litebert")
    quiet = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
    return trackio.init(project=project, name=_run_id(directory), resume="allow" if step else "never", **quiet)


def _run_id(directory: Path) -> str:
    """Name of the directory and digits of its path: `cola/seed=0` and `rte/seed=0` are different runs."""
    path = directory.resolve()
    return f"{path.name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


class FailSafeTracker:
    """A tracker whose first failure is a warning and its end; it never stops the run."""

    def __init__(self, name: str, make: Callable[[], Tracker]) -> None:
        self._name = name
        self._tracker: Tracker | None = None
        self._attempt(lambda: setattr(self, "_tracker", make()))

    def log(self, values: Mapping[str, Number], step: int) -> None:
        """Call the tracker, unless it has failed."""
        if tracker := self._tracker:
            self._attempt(lambda: tracker.log(dict(values), step))

    def finish(self) -> None:
        """Call the tracker, unless it has failed."""
        if tracker := self._tracker:
            self._attempt(tracker.finish)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
                action()
        except Exception as error:  # its library may raise anything, and the run must not fail for it
            logger.warning("%s failed and gets no more metrics: %s", self._name, error)
            self._tracker = None


_TRACKERS: dict[TrackerName, tuple[str, Callable[..., Tracker]]] = {
    "tensorboard": ("torch.utils.tensorboard", TensorBoard),
    "wandb": ("wandb", _wandb),
    "trackio": ("trackio", _trackio),
}
"""The module that each tracker needs, and what opens it."""


def require_trackers(names: Iterable[TrackerName]) -> None:
    """Raise a MissingExtraError unless each of them is installed; called before a run writes anything."""
    for name in names:
        import_extra(_TRACKERS[name][0], extra=name, needed_for=f"the {name} tracker", package=name)


def open_tracker(name: TrackerName, directory: Path, *, step: int) -> Tracker:
    """The named tracker for a run in `directory` at `step`; its failures do not stop the run."""
    return FailSafeTracker(name, lambda: _TRACKERS[name][1](directory, step=step))


def _drop_after(path: Path, last: tuple[int, bool]) -> None:
    """Remove the lines after that of step `last[0]`; the one of its evaluation stays if `last[1]`."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    kept = [line for line in lines if _position_of(line) <= last]
    if kept != lines:
        write_bytes(path, b"".join(kept))


def _position_of(line: bytes) -> tuple[Number, bool]:
    """The step of a line and whether it is an evaluation; infinity for a line that a killed process wrote in part."""
    try:
        record = json.loads(line)
        complete = line.endswith(b"\n")
        return (record["step"] if complete else math.inf), any(name.startswith("evaluation/") for name in record)
    except (ValueError, TypeError, KeyError):
        return math.inf, True
