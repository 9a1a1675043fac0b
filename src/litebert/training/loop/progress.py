"""How far a run has come; part of every checkpoint."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Counters of a run, the same on every rank."""

    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Real tokens seen, over all ranks."""
    seconds: float = 0.0
    """Time spent in `Trainer.fit`, earlier parts of a resumed run included."""
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
            skipped_steps=self.skipped_steps,
            consecutive_skipped_steps=0,
            rollbacks=self.rollbacks + 1,
            skipped_batches=self.batch - checkpoint.step,
        )
