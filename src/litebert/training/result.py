"""How a run ends: its result, or what is said where it ends before its time. Before: `trainer.py`. After: a person."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from litebert.errors import LitebertError, StoppedBySignalError
from litebert.training.loop.duration import TrainingProgress
from litebert.training.protocols import Number


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended that reached its duration."""

    steps: int
    tokens: int
    elapsed_seconds: float
    skipped_steps: int
    """Steps left out because a loss or gradient was not finite or far above those before."""
    evaluation: Mapping[str, Number]
    """The last evaluation of this call; empty without one."""
    learning_rate: float = 0.0
    """That of the update that would come next: 0, or above it where the run was stopped before its schedule ended."""
    stopped_early: bool = False
    """Whether its evaluations no longer got better, so that it ended before its duration."""


def interrupted_error(directory: Path, step: int, signal_number: int) -> StoppedBySignalError:
    """A signal came, and the state is saved."""
    name = signal.Signals(signal_number).name
    return StoppedBySignalError(
        f"{directory}: stopped by {name} after step {step}, with everything saved; the same command goes on from there",
        signal_number=signal_number,
    )


def divergence_error(directory: Path, position: TrainingProgress, dump: Path) -> LitebertError:
    """Step after step was left out."""
    count, returns = position.skipped_in_a_row, position.rollbacks
    where = f"step {position.step}" if count == 1 else f"{count} steps in a row, the last of them {position.step}"
    back = f", after going back to a checkpoint {returns} time{'s' * (returns > 1)}" if returns else ""
    return LitebertError(
        f"{directory}: the loss or the gradient was not finite, or far above those before, at {where}{back}. None of "
        f"that reached the weights; {dump} has the batches and numbers. Likely causes: a learning rate too high for "
        f"this batch size, too short a warm-up, fp16 where bf16 is needed, or broken inputs; change one of them and "
        f"start in a new directory"
    )
