"""Conversion of durations: to steps, and to fractions of a run."""

import math
from dataclasses import dataclass

from litebert.errors import ConfigError
from litebert.training.loop.duration import Duration
from litebert.training.loop.progress import TrainingProgress


@dataclass(frozen=True, slots=True)
class DurationConverter:
    """Compares the progress of a run with durations, for one source of batches."""

    batch_size: int
    examples_per_epoch: int

    def steps(self, duration: Duration) -> int | None:
        """Steps that `duration` takes, rounded up; None where the steps are not known in advance (tokens, seconds)."""
        examples = {"examples": 1, "epochs": self.examples_per_epoch, "steps": self.batch_size}.get(duration.unit)
        return None if examples is None else math.ceil(round(duration.amount * examples / self.batch_size, 9))

    def fraction(self, duration: Duration, progress: TrainingProgress) -> float:
        """`progress` as a fraction of `duration`: 0 at the start, 1 at the end, more after it."""
        steps = self.steps(duration)
        if steps is not None:
            return progress.step / steps
        return (progress.tokens if duration.unit == "tokens" else progress.seconds) / duration.amount

    def due(self, every: Duration, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether the end of an interval of length `every` lies in (before, now]."""
        return math.floor(self.fraction(every, before)) < math.floor(self.fraction(every, now))

    def warmup_fraction(self, warmup: Duration | float, whole: Duration) -> float:
        """The fraction of a run of length `whole` that its warm-up takes, in [0, 1)."""
        if not isinstance(warmup, Duration):
            return warmup
        steps, all_steps = self.steps(warmup), self.steps(whole)
        if steps is not None and all_steps is not None:
            fraction = steps / all_steps
        elif warmup.unit == whole.unit:
            fraction = warmup.amount / whole.amount
        else:
            raise ConfigError(
                f"warmup: {warmup.to_text()} as a fraction of {whole.to_text()} is not known in advance; "
                f"give the warm-up in {whole.unit}, or as a fraction"
            )
        if fraction >= 1:
            raise ConfigError(
                f"warmup: {warmup.to_text()} leaves nothing of a run of {whole.to_text()}; shorten it (train.warmup)"
            )
        return fraction
