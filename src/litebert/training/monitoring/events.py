"""What a run tells those who listen. Before: `trainer.py` emits. After: progress display, your own callable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from litebert.training.loop.duration import Duration, TrainingProgress
from litebert.training.protocols import Number


@dataclass(frozen=True, slots=True)
class Started:
    """A run began or goes on."""

    position: TrainingProgress
    duration: Duration
    total_steps: int | None
    """None where only the run itself can tell."""


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step is done and its record logged; `values` has the names of `metrics.jsonl`, without `train/`."""

    position: TrainingProgress
    values: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The model was evaluated."""

    position: TrainingProgress
    values: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint is on disk."""

    position: TrainingProgress
    path: Path


@dataclass(frozen=True, slots=True)
class Finished:
    """`Trainer.fit` ends, well or not; always the last event."""

    position: TrainingProgress


Event = Started | StepDone | Evaluated | Saved | Finished
Listener = Callable[[Event], None]
"""Called on rank 0 only, between steps; match on the kinds of interest."""
