"""Profiling: the cost of a training step, measured on a few microbatches."""

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import nn

from litebert.training.distributed.context import DistributedContext, distribute_model
from litebert.training.loop.memory import translate_memory_errors
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from litebert.training.loop.step import StepCounts, TrainStep, gradient_scaler
from litebert.training.optim.optimizers import build_optimizer
from litebert.training.protocols import BatchSource, Objective
from litebert.training.train_settings import TrainSettings

_MICROBATCHES = 2
"""The second one runs with the gradients of the first in memory, which is the peak of a step of any length."""

_SECONDS, _STEPS = 1.0, 10
"""One process repeats steps for this time or number, several take two, since all must take as many; the first step,
which allocates, is not measured."""


@dataclass(frozen=True, slots=True)
class StepProfile:
    """The cost of one step on this rank."""

    microbatches: int
    """Number of microbatches in one step of this rank."""
    tokens: int
    """Real tokens in one step, over all ranks."""
    batch_seconds: float
    """Time to make the microbatches of a step; a run does it during the step before."""
    step_seconds: float
    """Time of one step, extrapolated from a few of its microbatches."""
    loss: float
    """Loss of the first step, over all ranks."""


def profile_step(
    model: nn.Module,
    *,
    objective: Objective,
    batches: BatchSource,
    settings: TrainSettings,
    world: DistributedContext,
    shares: Mapping[int, float] | None = None,
) -> StepProfile:
    """Do some steps on a few microbatches, which changes `model`; the median of all but the first is their time.

    Args:
        model: is trained.
        objective: of the run.
        batches: of the run.
        settings: of the run.
        world: the processes.
        shares: steps to profile, one of each kind, with the share of the run that is of this kind; the profile is
            their mean. By default the first step alone.
    """
    shares = shares or {0: 1.0}
    distribute_model(model, world, fsdp=settings.fsdp)
    scaler, optimizer = gradient_scaler(settings.precision, world.device), build_optimizer(model, settings)
    train_step = TrainStep(model, objective, optimizer, scaler, settings, world)
    learning_rate = RunSchedule.of(settings, batches).learning_rate(TrainingProgress())

    def profile(step: int) -> StepProfile:
        began = time.perf_counter()
        microbatches = batches.microbatches(step)
        batch_seconds = time.perf_counter() - began
        few = microbatches[:_MICROBATCHES]
        labels, losses, times = StepCounts.of(few, objective, world).labels, [], []
        while len(times) < 2 or (world.size == 1 and len(times) < _STEPS and sum(times) < _SECONDS):
            began = time.perf_counter()
            with translate_memory_errors(few, world.device):
                losses.append(train_step.update(few, labels, learning_rate=learning_rate, seed=0).loss)
            times.append(time.perf_counter() - began)
        seconds = statistics.median(times[1:]) * len(microbatches) / len(few)
        tokens = StepCounts.of(microbatches, objective, world).tokens
        return StepProfile(len(microbatches), tokens, batch_seconds, seconds, losses[0])

    profiles = {step: profile(step) for step in shares}

    def mean(field: str) -> float:
        return sum(share * getattr(profiles[step], field) for step, share in shares.items())

    return replace(
        profiles[min(shares)],
        tokens=round(mean("tokens")),
        batch_seconds=mean("batch_seconds"),
        step_seconds=mean("step_seconds"),
    )
