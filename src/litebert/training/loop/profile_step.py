"""A step or two that leave nothing behind. Before: what a run is made of. After: what one of its steps costs."""

import time
from dataclasses import dataclass

from torch import nn

from litebert.training.distributed.context import DistributedContext, distribute_model
from litebert.training.loop.memory import explained_memory
from litebert.training.loop.precision import gradient_scaler
from litebert.training.loop.step import StepCounts, TrainStep
from litebert.training.optim.optimizers import build_optimizer
from litebert.training.protocols import BatchSource, Objective
from litebert.training.train_settings import TrainSettings

_MICROBATCHES = 2
"""With the second the gradients of the first are there already: the peak of a step of any number of them."""


@dataclass(frozen=True, slots=True)
class StepProfile:
    """What a step costs on this rank."""

    microbatches: int
    """In one step of this rank."""
    tokens: int
    """Real tokens in one step, over all ranks."""
    batch_seconds: float
    """To make a step's batches, which a run does while it computes."""
    step_seconds: float
    """To compute one step, from a few of its microbatches."""
    loss: float
    """Of the first of them, over all ranks."""


def profile_step(
    model: nn.Module, *, objective: Objective, batches: BatchSource, settings: TrainSettings, world: DistributedContext
) -> StepProfile:
    """Train `model`, which it changes, on a few microbatches twice; the second time is measured."""
    distribute_model(model, world, sharded=settings.sharded)
    scaler, optimizer = gradient_scaler(settings.precision, world.device), build_optimizer(model, settings)
    updater = TrainStep(model, objective, optimizer, scaler, settings, world)
    began = time.perf_counter()
    microbatches = batches.microbatches(0)
    batch_seconds = time.perf_counter() - began
    few = microbatches[:_MICROBATCHES]
    labels, losses = StepCounts.of(few, objective, world).labels, []
    for _ in range(2):
        began = time.perf_counter()
        with explained_memory(few, world.device):
            losses.append(updater.update(few, labels, learning_rate=settings.learning_rate, seed=0).loss)
        seconds = time.perf_counter() - began
    tokens = StepCounts.of(microbatches, objective, world).tokens
    return StepProfile(len(microbatches), tokens, batch_seconds, seconds * len(microbatches) / len(few), losses[0])
