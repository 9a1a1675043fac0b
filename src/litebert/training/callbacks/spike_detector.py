"""Spike detection: skips updates whose loss or gradient norm is far above those before, and rolls the run back."""

import logging
import math
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from litebert.errors import DivergedError
from litebert.files import write_json
from litebert.training.callbacks.callback import Callback, RunState, StepRecord
from litebert.training.loop.run_schedule import TrainingProgress
from litebert.training.loop.step import NO_LIMITS, UpdateLimits
from litebert.training.train_settings import TrainSettings

logger = logging.getLogger(__name__)

_MIN_DEVIATION = 0.01
"""Smallest standard deviation, as a share of the mean: with a constant loss, a small change is not a spike."""


class Recent(NamedTuple):
    """Recent steps of one objective."""

    losses: deque[float]
    grad_norms: deque[float]


class SpikeDetector(Callback):
    """Limits each update by the recent losses and gradient norms; ends or rolls back a run of too many skipped steps.

    A step is compared with those of the same objective: where one step in fifty predicts masked tokens and the others
    next tokens, each such step would otherwise be a spike. And with those of the same part of the run: the first steps
    of layers that were not trained before have larger gradients.

    Source of the limits: `SkipStepOptimizer` of OLMo-core.
    """

    every_rank = True

    def __init__(self, settings: TrainSettings) -> None:
        self._settings = settings.spikes
        self._max_consecutive = settings.max_consecutive_skipped_steps
        self._recent: dict[str, Recent] = {}
        """By objective, the names of its losses, and part of the run."""
        self._run: RunState | None = None
        self._records: deque[StepRecord] = deque(maxlen=settings.spikes.window)
        self._skipped_before = 0
        """Skipped steps when this process began."""

    def on_train_begin(self, run: RunState) -> None:
        """Count the skipped steps of this process from here."""
        self._run = run
        self._skipped_before = run.progress.skipped_steps

    def limits(self, losses: Collection[str]) -> UpdateLimits:
        """Mean + `sigma_factor` standard deviations; infinite before half a window."""
        if self._settings.policy == "none":
            return NO_LIMITS
        recent = self._recent_of(losses)
        return UpdateLimits(self._limit(recent.losses), self._limit(recent.grad_norms))

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Ask for a rollback, or end the run, if too many steps in a row were skipped."""
        self.update(record)
        if run.world.rank == 0 and not record.outcome.applied and self._skipped(run) == 1:
            logger.warning("%s; further skipped steps are counted, and reported at the end", _describe(record))
        if not self._too_many(run, record):
            return
        path = run.directory / f"spikes-at-step-{record.step:08d}.json"
        run.world.on_rank_zero(lambda: self.dump(path))
        error = _diverged_error(run.directory, run.progress, path)
        if self._settings.policy != "rollback" or run.progress.rollbacks >= self._settings.max_rollbacks:
            raise error
        run.request_rollback(until=record.step - run.progress.consecutive_skipped_steps, error=error)

    def on_train_end(self, run: RunState) -> None:
        """Warn once of all skipped steps."""
        if run.world.rank == 0 and (skipped := self._skipped(run)) > 1:
            logger.warning(
                "%d steps were skipped up to step %d (skipped_steps in metrics.jsonl); small batches have losses that "
                "vary more: raise train.spikes.sigma_factor, or set train.spikes.policy=none",
                skipped,
                run.progress.step,
            )

    def update(self, record: StepRecord) -> None:
        """Add a step to the window.

        A spike counts as the limit that it exceeded, so that the limits follow a lasting change but not an explosion.
        """
        self._records.append(record)
        outcome = record.outcome
        if outcome.finite:
            recent = self._recent_of(outcome.losses)
            recent.losses.append(min(outcome.loss, outcome.limits.loss))
            recent.grad_norms.append(min(outcome.grad_norm, outcome.limits.grad_norm))

    def dump(self, path: Path) -> None:
        """Write the steps of the window, newest last, to `path`."""
        steps = [_to_dict(record) for record in self._records]
        write_json(path, {"spikes": self._settings.to_dict(), "steps": steps})

    def state_dict(self) -> dict[str, dict[str, list[float]]]:
        """The losses and gradient norms of the window of each objective."""
        return {
            objective: {"losses": list(recent.losses), "grad_norms": list(recent.grad_norms)}
            for objective, recent in self._recent.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        if "grad_norms" in state:  # of a version with one window for all objectives: the windows fill again
            return
        self._recent = {
            objective: Recent(self._window(values["losses"]), self._window(values["grad_norms"]))
            for objective, values in state.items()
        }

    def _recent_of(self, losses: Collection[str]) -> "Recent":
        part = f" of part {self._run.part}" if self._run and self._run.part else ""
        return self._recent.setdefault("+".join(sorted(losses)) + part, Recent(self._window(), self._window()))

    def _window(self, values: Iterable[float] = ()) -> deque[float]:
        return deque(values, maxlen=self._settings.window)

    def _skipped(self, run: RunState) -> int:
        return run.progress.skipped_steps - self._skipped_before

    def _too_many(self, run: RunState, record: StepRecord) -> bool:
        skipped = run.progress.consecutive_skipped_steps
        stop_at_once = self._settings.policy == "stop" and skipped > 0 and record.outcome.finite
        return stop_at_once or skipped > self._max_consecutive

    def _limit(self, window: deque[float]) -> float:
        count = len(window)
        if count < max(2, self._settings.window // 2):
            return math.inf
        mean = math.fsum(window) / count
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in window) / count)
        return mean + self._settings.sigma_factor * max(deviation, _MIN_DEVIATION * abs(mean))


def _diverged_error(directory: Path, progress: TrainingProgress, dump: Path) -> DivergedError:
    """The error of a run of which too many steps in a row were skipped; `dump` has the metrics of these steps."""
    skipped, rollbacks = progress.consecutive_skipped_steps, progress.rollbacks
    where = f"step {progress.step}" if skipped == 1 else f"{skipped} steps in a row up to step {progress.step}"
    after = f", after {rollbacks} rollback{'s' * (rollbacks > 1)}" if rollbacks else ""
    return DivergedError(
        f"{directory}: the loss or the gradient norm was not finite, or was a spike, at {where}{after}. None of these "
        f"steps updated the weights; {dump} has their batches and metrics. Likely causes: a learning rate too high for "
        f"this batch size, too short a warm-up, fp16 instead of bf16, or damaged inputs; change one of them and start "
        f"in a new directory"
    )


def _describe(record: StepRecord) -> str:
    outcome, limits = record.outcome, record.outcome.limits
    return (
        f"step {record.step} skipped: loss {outcome.loss:.4g} (limit {limits.loss:.4g}), "
        f"grad norm {outcome.grad_norm:.4g} (limit {limits.grad_norm:.4g}), batch {record.batch}"
    )


def _to_dict(record: StepRecord) -> dict[str, Any]:
    outcome = record.outcome
    step = {"step": record.step, "batch": record.batch, "learning_rate": record.learning_rate}
    return _finite_or_text({**step, "applied": outcome.applied, "loss": outcome.loss, **asdict(outcome)})


def _finite_or_text(value: Any) -> Any:
    """Numbers that are not finite as text, because JSON has no infinity."""
    if isinstance(value, dict):
        return {name: _finite_or_text(each) for name, each in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
