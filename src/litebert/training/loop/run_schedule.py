"""Where a run is and what is due there, as functions of its position. Before: settings. After: `trainer.py`."""

from dataclasses import dataclass

from litebert.training.loop.duration import Duration, DurationConverter, TrainingProgress
from litebert.training.optim.lr_schedules import lr_multiplier
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """The length of a run, its learning rates, and when to evaluate and save."""

    settings: TrainSettings
    measure: DurationConverter
    warmup: float
    """Share of the run that is warm-up."""

    @classmethod
    def of(cls, settings: TrainSettings, batches: BatchSource) -> "RunSchedule":
        """The plan of a run over `batches`; a ConfigError where its warm-up does not fit its length."""
        measure = DurationConverter(batches.batch_size, batches.examples_per_epoch)
        return cls(settings, measure, measure.warmup_share(settings.warmup, settings.duration))

    @property
    def total_steps(self) -> int | None:
        """Steps of the run; None where only the run itself can tell."""
        return self.measure.steps(self.settings.duration)

    def progress(self, position: TrainingProgress) -> float:
        """Share of the run that is done, in [0, 1]."""
        return min(1.0, self.measure.share(self.settings.duration, position))

    def done(self, position: TrainingProgress) -> bool:
        """Whether the run is at its end."""
        return self.progress(position) >= 1

    def learning_rate(self, position: TrainingProgress) -> float:
        """The rate of the update that begins at `position`."""
        step_share = 1 / self.total_steps if self.total_steps else 0.0
        factor = lr_multiplier(
            self.settings.schedule, self.progress(position), warmup=self.warmup, step_share=step_share
        )
        return self.peak * factor

    @property
    def peak(self) -> float:
        """The largest rate. Source of the root: LAMB (You et al., 2020), section 4.1 and table 4."""
        scale_from = self.settings.lr_reference_batch_size
        scale = 1.0 if scale_from is None else (self.measure.batch_size / scale_from) ** 0.5
        return self.settings.learning_rate * scale

    def told(self) -> str:
        """The learning rate over the run, in one line for a person."""
        settings = self.settings
        peak, scale_from = f"{self.peak:.3g}", settings.lr_reference_batch_size
        if scale_from is not None:
            batch = self.measure.batch_size
            peak = f"{settings.learning_rate:.3g} scaled by sqrt({batch}/{scale_from}) to {peak}"
        warmup = f"warm-up to {self._moment(self.warmup)}" if self.warmup else "no warm-up"
        return f"{peak}; {warmup}, then " + settings.schedule.told(
            lambda x: self._moment(self.warmup + x * (1 - self.warmup))
        )

    def _moment(self, progress: float) -> str:
        """`step 3,125`, or a share of the run where its steps are not known in advance."""
        if self.total_steps:
            return f"step {round(progress * self.total_steps):,}"
        return "the end" if progress >= 1 else f"{100 * progress:.3g} % of the run"

    def logs(self, now: TrainingProgress) -> bool:
        """Whether the step that led to `now` is recorded; the last always is."""
        return self.done(now) or now.step % self.settings.log_every == 0

    def evaluates(self, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether to evaluate after the step from `before` to `now`; after the last, always."""
        return self.done(now) or self._due(self.settings.evaluate_every, before, now)

    def saves(self, before: TrainingProgress, now: TrainingProgress) -> bool:
        """Whether to save after the step from `before` to `now`; after the last, always."""
        return self.done(now) or self._due(self.settings.checkpoint_every, before, now)

    def _due(self, every: Duration | None, before: TrainingProgress, now: TrainingProgress) -> bool:
        return every is not None and self.measure.due(every, before, now)
