"""How a run ends: its result, or the error that ends it."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from litebert.errors import DivergedError, StoppedBySignalError
from litebert.training.loop.progress import TrainingProgress
from litebert.training.protocols import Number


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The result of a run that reached its duration or was stopped by a callback."""

    steps: int
    tokens: int
    elapsed_seconds: float
    skipped_steps: int
    """Steps without an update, because a loss or gradient was not finite or was a spike."""
    evaluation: Mapping[str, Number]
    """The last evaluation of this call of `fit`; empty without one."""
    learning_rate: float
    """That of the next update: 0 at the end of most schedules, above 0 if the run was stopped early."""
    stopped_early: bool
    """Whether a callback stopped the run before its duration."""


def interrupted_error(directory: Path, step: int, signal_number: int) -> StoppedBySignalError:
    """The error of a run that a signal stopped, after its state was saved."""
    name = signal.Signals(signal_number).name
    return StoppedBySignalError(
        f"{directory}: stopped by {name} after step {step}; the state is saved, and the same command resumes the run",
        signal_number=signal_number,
    )


def diverged_error(directory: Path, progress: TrainingProgress, dump: Path) -> DivergedError:
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
