"""Metric logging: to `metrics.jsonl` always, to experiment trackers if the settings name some."""

from collections.abc import Mapping

from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.callbacks.trackers import MetricsFile, open_tracker
from litebert.training.protocols import Number, Tracker


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
