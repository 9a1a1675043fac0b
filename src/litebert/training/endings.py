"""What is said where a run ends before its time. Before: `trainer.py`. After: a person, who knows what to do."""

import signal
from pathlib import Path

from litebert.errors import LitebertError, StoppedBySignalError
from litebert.training.duration import Position


def stopped(directory: Path, step: int, signal_number: int) -> StoppedBySignalError:
    """A signal came, and the state is saved."""
    name = signal.Signals(signal_number).name
    return StoppedBySignalError(
        f"{directory}: stopped by {name} after step {step}, with everything saved; the same command goes on from there",
        signal_number=signal_number,
    )


def spiked(directory: Path, position: Position, dump: Path) -> LitebertError:
    """Step after step was left out."""
    return LitebertError(
        f"{directory}: the loss or the gradient was not finite, or far above those before, at "
        f"{position.skipped_in_a_row} steps in a row, the last of them {position.step}, after {position.rollbacks} "
        f"returns to a checkpoint; none of these steps changed the weights; {dump} has their batches and numbers. "
        f"Likely causes: a learning rate too high for this batch size, too short a warm-up, fp16 where bf16 is needed, "
        f"or broken inputs; change one of them and start in a new directory"
    )
