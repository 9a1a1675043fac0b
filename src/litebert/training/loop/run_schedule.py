"""How far a run has come, and what is due then: learning rate, evaluation, checkpoints, logging, and the end."""

import math
from dataclasses import dataclass, replace

from litebert.errors import ConfigError
from litebert.training.loop.duration import Duration
from litebert.training.optim.lr_schedules import describe, lr_multiplier
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Counters of a run, the same on every rank."""

    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Real tokens seen, over all ranks."""
    seconds: float = 0.0
    """Time spent in `Trainer.fit`, earlier parts of a resumed run included."""
    step_seconds: float = 0.0
    """Time spent in steps, without evaluation and the copies for checkpoints."""
    skipped_steps: int = 0
    """Steps without an update, because a loss or gradient was not finite or was a spike."""
    consecutive_skipped_steps: int = 0
    """Skipped steps since the last update."""
    rollbacks: int = 0
    """Returns to an earlier checkpoint."""
    skipped_batches: int = 0
    """Batches that the rollbacks left out; they are not drawn again."""

    @property
    def batch(self) -> int:
        """Index of the next global batch."""
        return self.step + self.skipped_batches

    def after_step(self, *, tokens: int, applied: bool) -> "TrainingProgress":
        """The progress after one more step of `tokens` tokens; `applied` says whether it updated the weights."""
        return replace(
            self,
            step=self.step + 1,
            tokens=self.tokens + tokens,
            skipped_steps=self.skipped_steps + (not applied),
            consecutive_skipped_steps=0 if applied else self.consecutive_skipped_steps + 1,
        )

    def rolled_back_to(self, checkpoint: "TrainingProgress") -> "TrainingProgress":
        """The progress after a return to `checkpoint`; time, counts of skipped steps and used batches stay."""
        return replace(
            checkpoint,
            seconds=self.seconds,
            step_seconds=self.step_seconds,
            skipped_steps=self.skipped_steps,
            consecutive_skipped_steps=0,
            rollbacks=self.rollbacks + 1,
            skipped_batches=self.batch - checkpoint.step,
        )


@dataclass(frozen=True, slots=True)
class DurationConverter:
    """Compares the progress of a run with durations, for one source of batches."""

    batch_size: int
    examples_per_epoch: int

    def steps(self, duration: Duration) -> int | None:
        """Steps that `duration` takes, rounded up, at least 1; None where they are not known before (tokens, time)."""
        examples = {"examples": 1, "epochs": self.examples_per_epoch, "steps": self.batch_size}.get(duration.unit)
        return None if examples is None else max(1, math.ceil(round(duration.amount * examples / self.batch_size, 9)))

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
        fraction = self._share(warmup, whole)
        if fraction is None:
            raise ConfigError(
                f"warmup: {warmup.to_text()} as a fraction of {whole.to_text()} is not known in advance; "
                f"give the warm-up in {whole.unit}, or as a fraction"
            )
        if fraction >= 1:
            raise ConfigError(
                f"warmup: {warmup.to_text()} leaves nothing of a run of {whole.to_text()}; shorten it (train.warmup)"
            )
        return fraction

    def validate_within(self, milestone: Duration, whole: Duration) -> None:
        """Raise ConfigError for a milestone that a run of length `whole` does not reach, as far as that is known."""
        share = self._share(milestone, whole)
        if share is not None and share > 1:
            raise ConfigError(
                f"milestones: {milestone.to_text()} is beyond the end of the run, {whole.to_text()}; leave it out "
                "(train.milestones) or train longer (train.duration)"
            )

    def _share(self, part: Duration, whole: Duration) -> float | None:
        """`part` as a fraction of `whole`; None where it is not known in advance."""
        steps, all_steps = self.steps(part), self.steps(whole)
        if steps is not None and all_steps is not None:
            return steps / all_steps
        return part.amount / whole.amount if part.unit == whole.unit else None


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """Pure functions of the progress of a run; nothing of it is saved in checkpoints."""

    settings: TrainSettings
    converter: DurationConverter
    warmup: float
    """Fraction of the run that is warm-up."""

    @classmethod
    def of(cls, settings: TrainSettings, batches: BatchSource) -> "RunSchedule":
        """The schedule of a run over `batches`; a ConfigError if warm-up or milestones do not fit into the run."""
        converter = DurationConverter(batches.batch_size, batches.examples_per_epoch)
        for milestone in settings.milestones:
            converter.validate_within(milestone, settings.duration)
        return cls(settings, converter, converter.warmup_fraction(settings.warmup, settings.duration))

    @property
    def total_steps(self) -> int | None:
        """Steps of the run; None if they are not known in advance."""
        return self.converter.steps(self.settings.duration)

    def fraction(self, progress: TrainingProgress) -> float:
        """Fraction of the run that is done, in [0, 1]."""
        return min(1.0, self.converter.fraction(self.settings.duration, progress))

    def done(self, progress: TrainingProgress) -> bool:
        """Whether the run has reached its duration."""
        return self.fraction(progress) >= 1

    def learning_rate(self, progress: TrainingProgress) -> float:
        """The learning rate of the next update."""
        step_fraction = 1 / self.total_steps if self.total_steps else 0.0
        factor = lr_multiplier(
            self.settings.schedule, self.fraction(progress), warmup=self.warmup, step_fraction=step_fraction
        )
        return self.peak * factor

    @property
    def peak(self) -> float:
        """The largest learning rate; with Muon, that of its companion."""
        return self.settings.learning_rate * self._scale

    @property
    def _scale(self) -> float:
        """Factor of each peak. Source of square-root scaling: LAMB (You et al., 2020), section 4.1, table 4."""
        reference = self.settings.lr_reference_batch_size
        return 1.0 if reference is None else (self.converter.batch_size / reference) ** 0.5

    def to_text(self) -> str:
        """The learning rate over the run, in one line; with Muon, both."""
        settings = self.settings
        peak = self._peak_text(settings.learning_rate)
        if settings.optimizer == "muon":
            muon = self._peak_text(settings.muon_learning_rate)
            peak = f"{muon} for the matrices of muon, {peak} for the others ({settings.muon_companion})"
        warmup = f"warm-up to {self._point(self.warmup)}" if self.warmup else "no warm-up"
        after = describe(settings.schedule, lambda x: self._point(self.warmup + x * (1 - self.warmup)))
        return f"{peak}; {warmup}, then {after}"

    def _peak_text(self, learning_rate: float) -> str:
        """A peak, with the scaling for the batch size if there is one."""
        scaled, reference = f"{learning_rate * self._scale:.3g}", self.settings.lr_reference_batch_size
        if reference is None:
            return scaled
        return f"{learning_rate:.3g} scaled by sqrt({self.converter.batch_size}/{reference}) to {scaled}"

    def _point(self, fraction: float) -> str:
        """`step 3,125`, or a percentage of the run if its steps are not known in advance."""
        if self.total_steps:
            return f"step {round(fraction * self.total_steps):,}"
        return "the end" if fraction >= 1 else f"{100 * fraction:.3g} % of the run"

    def logs(self, now: TrainingProgress) -> bool:
        """Whether the step that led to `now` is logged; the last always is."""
        return self.done(now) or now.step % self.settings.log_every == 0

    def evaluates(self, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether to evaluate after the step from `before` to `now`; after the last, always."""
        return self.done(now) or self._due(self.settings.evaluate_every, before, now)

    def saves(self, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether to save a checkpoint after the step from `before` to `now`; after the last, always."""
        return self.done(now) or self._due(self.settings.checkpoint_every, before, now)

    def milestones_between(self, before: TrainingProgress, now: TrainingProgress) -> list[Duration]:
        """The milestones in (before, now]."""
        fraction = self.converter.fraction
        return [each for each in self.settings.milestones if fraction(each, before) < 1 <= fraction(each, now)]

    def _due(self, every: Duration | None, before: TrainingProgress, now: TrainingProgress) -> bool:
        return every is not None and self.converter.due(every, before, now)
