"""Everything a run tells, in one place. Before: `trainer.py`. After: `metrics.jsonl`, trackers and listeners."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from litebert.training.loop.duration import Duration, TrainingProgress
from litebert.training.monitoring.events import Evaluated, Event, Finished, Listener, Saved, Started, StepDone
from litebert.training.monitoring.trackers import MetricsFile, open_tracker
from litebert.training.protocols import Number, Tracker
from litebert.training.train_settings import TrackerName


class MetricLogger:
    """Passes a run's numbers on; silent on every rank but the first.

    Names in `metrics.jsonl` and the trackers are `train/<name>` and `evaluation/<name>`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        trackers: Sequence[TrackerName],
        listeners: Sequence[Listener],
        position: TrainingProgress,
        silent: bool,
    ) -> None:
        self._position = position
        self._listeners = () if silent else listeners
        others = [] if silent else [open_tracker(name, directory, step=position.step) for name in trackers]
        self._metrics = None if silent else MetricsFile(directory / "metrics.jsonl", step=position.step)
        self._trackers: list[Tracker] = [*([self._metrics] if self._metrics else []), *others]

    def __enter__(self) -> "MetricLogger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tracker in self._trackers:
            tracker.finish()
        self._emit(Finished(self._position))

    def started(self, duration: Duration, total_steps: int | None) -> None:
        """The run begins or goes on."""
        self._emit(Started(self._position, duration, total_steps))

    def step(self, position: TrainingProgress, values: Mapping[str, Number]) -> None:
        """A step is done."""
        self._log("train", position, values)
        self._emit(StepDone(position, values))

    def evaluation(self, position: TrainingProgress, values: Mapping[str, Number]) -> None:
        """The model was evaluated."""
        self._log("evaluation", position, values)
        self._emit(Evaluated(position, values))

    def rolled_back(self, position: TrainingProgress) -> None:
        """The run goes on from an earlier position; the records after it are taken back."""
        self._position = position
        if self._metrics:
            self._metrics.rewind(position.step)

    def flush(self) -> None:
        """Make the numbers so far durable, so that no checkpoint is ahead of them."""
        if self._metrics:
            self._metrics.flush()

    def saved(self, position: TrainingProgress, path: Path) -> None:
        """A checkpoint is on disk."""
        self._emit(Saved(position, path))

    def _log(self, kind: str, position: TrainingProgress, values: Mapping[str, Number]) -> None:
        self._position = position
        for tracker in self._trackers:
            tracker.log(position.step, {f"{kind}/{name}": value for name, value in values.items()})

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
