"""What is due at each point of a run: the learning rate, evaluation, checkpoints, logging, and the end."""

from dataclasses import dataclass

from litebert.training.loop.duration import Duration, DurationConverter
from litebert.training.loop.progress import TrainingProgress
from litebert.training.optim.lr_schedules import describe, lr_multiplier
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """Pure functions of the progress of a run; nothing of it is saved in checkpoints."""

    settings: TrainSettings
    converter: DurationConverter
    warmup: float
    """Fraction of the run that is warm-up."""

    @classmethod
    def of(cls, settings: TrainSettings, batches: BatchSource) -> "RunSchedule":
        """The schedule of a run over `batches`; a ConfigError if the warm-up is not shorter than the run."""
        converter = DurationConverter(batches.batch_size, batches.examples_per_epoch)
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
        """The largest learning rate. Source of square-root scaling: LAMB (You et al., 2020), section 4.1, table 4."""
        reference = self.settings.lr_reference_batch_size
        scale = 1.0 if reference is None else (self.converter.batch_size / reference) ** 0.5
        return self.settings.learning_rate * scale

    def to_text(self) -> str:
        """The learning rate over the run, in one line."""
        settings = self.settings
        peak, reference = f"{self.peak:.3g}", settings.lr_reference_batch_size
        if reference is not None:
            batch = self.converter.batch_size
            peak = f"{settings.learning_rate:.3g} scaled by sqrt({batch}/{reference}) to {peak}"
        warmup = f"warm-up to {self._point(self.warmup)}" if self.warmup else "no warm-up"
        after = describe(settings.schedule, lambda x: self._point(self.warmup + x * (1 - self.warmup)))
        return f"{peak}; {warmup}, then {after}"

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

    def _due(self, every: Duration | None, before: TrainingProgress, now: TrainingProgress) -> bool:
        return every is not None and self.converter.due(every, before, now)
