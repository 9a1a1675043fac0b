"""Callbacks: code that the trainer calls at fixed points of a run, and that may stop it or roll it back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import ConfigError, DivergedError
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from litebert.training.loop.step import NO_LIMITS, StepOutcome, UpdateLimits
from litebert.training.protocols import Number


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run."""

    step: int
    """Number of the step, from 1."""
    batch: int
    """Index of its global batch: `BatchSource.microbatches(batch)` gives it again."""
    learning_rate: float
    outcome: StepOutcome
    metrics: Mapping[str, Number]
    """What `metrics.jsonl` gets, without the prefix `train/`."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """A request to return to a checkpoint."""

    until: int
    """The checkpoint must not be of a later step than this."""
    error: DivergedError
    """Ends the run if there is no such checkpoint."""


@dataclass(slots=True)
class RunState:
    """What callbacks see of a run, and the requests they make."""

    model: nn.Module
    directory: Path
    world: DistributedContext
    schedule: RunSchedule
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    part: int = 0
    """Part of the run: losses and gradient norms are compared with those of the same part only."""
    evaluation_due: bool = False
    """Whether the evaluation at the current step has not been completed; a resumed run begins with it."""
    stop_requested: bool = False
    rollback: Rollback | None = None

    def request_stop(self) -> None:
        """End the run after this hook, with a checkpoint and without an error."""
        self.stop_requested = True

    def request_rollback(self, *, until: int, error: DivergedError) -> None:
        """Return to the newest valid checkpoint up to step `until` after `on_step`; only if `every_rank`.

        The batches since that checkpoint are not drawn again. Without such a checkpoint, `error` is raised.
        """
        self.rollback = Rollback(until, error)


def metric_of(metrics: Mapping[str, Number], name: str) -> float:
    """The metric of an evaluation by its name; ConfigError if it has no such metric."""
    if name not in metrics:
        raise ConfigError(f"metric {name}: the evaluation has no such metric; it has {', '.join(metrics)}")
    return float(metrics[name])


class Callback:
    """Base class with hooks that do nothing.

    Hooks run between steps, on rank 0 only. A callback with `every_rank` runs on all ranks; there it must make the same
    requests, which follows if it depends only on its arguments: losses, metrics and progress are the same everywhere.
    """

    every_rank: bool = False

    @property
    def name(self) -> str:
        """Key of its state in checkpoints."""
        return type(self).__name__

    def limits(self, losses: Collection[str]) -> UpdateLimits:
        """The largest loss and gradient norm with which the next step updates the weights; only if `every_rank`.

        `losses` are the names of the losses of that step: one that predicts next tokens has another than one that
        predicts masked tokens.
        """
        return NO_LIMITS

    def on_train_begin(self, run: RunState) -> None:
        """Called once, before the first step of a new or resumed run; its state was loaded before."""

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Called after every step."""

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Called after every evaluation."""

    def on_checkpoint(self, run: RunState, path: Path, step: int) -> None:
        """Called when the checkpoint of `step` is on disk, which may be some steps later."""

    def on_rollback(self, run: RunState) -> None:
        """Called after a return to a checkpoint; `run.progress` is that of the checkpoint."""

    def on_train_end(self, run: RunState) -> None:
        """Called last, also if the run fails."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to continue alike, ready for JSON."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, also an empty one."""


def has_state(callback: Callback) -> bool:
    """Whether checkpoints have a state of the callback, which may be empty at first."""
    return type(callback).state_dict is not Callback.state_dict
