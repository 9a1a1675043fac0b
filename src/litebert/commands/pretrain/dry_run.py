"""What a pretraining run would need, found by doing a step of it. Before: a plan. After: nothing but a report."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.commands.result import Result
from litebert.commands.run_directory import RunDirectory
from litebert.corpus.sampling.mlm_probability import LinearSchedule
from litebert.durations import readable_seconds
from litebert.files import free_space, readable_bytes
from litebert.model.model_stats import Memory, memory, parameter_counts
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.loop.memory import OutOfMemoryError, PeakMemory, memory_left
from litebert.training.loop.profile_step import StepProfile, profile_step
from litebert.training.loop.run_schedule import RunSchedule

logger = logging.getLogger(__name__)

_STATES = 3
"""Tensors of a parameter's size in a checkpoint: the weight and both moments."""


@dataclass(frozen=True)
class DryRun(Result):
    """Memory in bytes of each process, time in seconds, disk in bytes."""

    parameters: int
    weights: int
    gradients: int
    optimizer: int
    activations: int
    """By formula, as are the three before it."""
    peak: int
    """Measured during two steps, beyond what the process held before; 0 where the system does not say."""
    memory_left: int | None
    """What the device had left before them."""
    processes: int
    device: str
    batch_size: int
    microbatch_size: int
    """The largest that fits of the one asked for, its half, its quarter and so on."""
    microbatches: int
    """In one step of each process."""
    step_seconds: float
    batch_seconds: float
    """To make the examples of a step, which is done while the step before is computed."""
    tokens_per_step: int
    learning_rate: str
    """Its peak, warm-up and what follows, in words."""
    steps: int
    """Of the whole run; an estimate where its length is given in tokens or time."""
    seconds: float
    """Of all steps; evaluations come on top."""
    checkpoint: int
    kept_checkpoints: int
    disk_left: int
    loss: float
    """Of the first step: from new weights about the logarithm of the vocabulary's size, and that of 2 for the pairs."""

    @property
    def disk_needed(self) -> int:
        """The checkpoints kept, and the one that is being written."""
        return self.checkpoint * (self.kept_checkpoints + 1)

    def to_text(self) -> str:
        """The report for a person."""
        size = readable_bytes
        left = "" if self.memory_left is None else f" ({size(self.memory_left)} left on {self.device})"
        enough = "" if self.disk_left >= self.disk_needed else ": NOT ENOUGH"
        slow = " (slower than the step: the device will wait)" if self.batch_seconds > self.step_seconds else ""
        return "\n".join(
            [
                f"batch of {self.batch_size}: {self.processes} process(es) x {self.microbatches} microbatch(es) of "
                f"{self.microbatch_size}",
                f"memory: {size(self.peak)} measured at the peak{left}; by formula {size(self.weights)} weights, "
                f"{size(self.gradients)} gradients, {size(self.optimizer)} optimizer, {size(self.activations)} "
                f"activations, for {self.parameters:,} parameters",
                f"time: {self.step_seconds:.3g} s a step ({self.tokens_per_step / self.step_seconds:,.0f} tokens/s), "
                f"about {self.steps:,} steps in {readable_seconds(self.seconds)}, evaluations left out; "
                f"a step's examples take {self.batch_seconds:.3g} s{slow}",
                f"learning rate: {self.learning_rate}",
                f"disk: {size(self.checkpoint)} a checkpoint, {size(self.disk_needed)} for {self.kept_checkpoints} and "
                f"one being written; {size(self.disk_left)} left{enough}",
                f"first loss: {self.loss:.3f}; nothing was written",
            ]
        )


def dry_run(run: PretrainRun, out: Path) -> DryRun:
    """Do a step of `run` on a model that is thrown away, and tell what the whole run needs; `out` is not made.

    What the run itself would refuse of corpora, model and `init_checkpoint` is refused here. Where the step needs too much
    memory, the microbatch is halved until it fits.
    """
    start = PretrainStart.of(run)
    with distributed_context(run.train) as world:
        left = memory_left(world.device)
        start, rehearsal, peak = _fitting(start, RunDirectory(out), world)
        run = start.run
        plan = RunSchedule.of(run.train, start.batches(world))
        steps, seconds = _length(plan, rehearsal)
        expected = _memory(run)
        parameters = parameter_counts(run.model).pretraining
        return DryRun(
            parameters=parameters,
            weights=expected.weights,
            gradients=expected.gradients,
            optimizer=expected.optimizer,
            activations=expected.activations,
            peak=peak,
            memory_left=left,
            processes=world.size,
            device=str(world.device),
            batch_size=run.batch_size,
            microbatch_size=run.microbatch_size,
            microbatches=rehearsal.microbatches,
            step_seconds=rehearsal.step_seconds,
            batch_seconds=rehearsal.batch_seconds,
            tokens_per_step=rehearsal.tokens,
            learning_rate=plan.to_text(),
            steps=steps,
            seconds=seconds,
            checkpoint=_STATES * 4 * parameters,
            kept_checkpoints=run.train.keep_checkpoints,
            disk_left=free_space(out),
            loss=rehearsal.loss,
        )


def _fitting(
    start: PretrainStart, directory: RunDirectory, world: DistributedContext
) -> tuple[PretrainStart, StepProfile, int]:
    """`start` with the largest microbatch that fits, what its step costs, and the memory at its peak."""
    run = start.run
    try:
        with PeakMemory(world.device) as peak:
            rehearsal = profile_step(
                start.model(directory, world),
                objective=PretrainingObjective(run.examples.pairing),
                batches=start.batches(world),
                settings=run.train,
                world=world,
            )
    except OutOfMemoryError as error:
        # Of several processes some may have had enough; they would wait for those that begin again.
        if run.microbatch_size == 1 or world.size > 1:
            raise
        logger.warning("%s", error)
        smaller = replace(start, run=run.replace(microbatch_size=run.microbatch_size // 2))
        return _fitting(smaller, directory, world)
    return start, rehearsal, peak.bytes


def _length(plan: RunSchedule, rehearsal: StepProfile) -> tuple[int, float]:
    """Steps of the whole run and the seconds they take."""
    duration = plan.settings.duration
    if duration.unit == "seconds":
        return int(duration.amount / rehearsal.step_seconds), duration.amount
    steps = plan.total_steps or int(duration.amount / rehearsal.tokens)
    return steps, steps * rehearsal.step_seconds


def _memory(run: PretrainRun) -> Memory:
    return memory(
        run.model,
        batch_size=run.microbatch_size,
        length=run.examples.max_length,
        predicted=LinearSchedule.parse(run.examples.mlm_probability).end,
        precision=run.train.precision,
        activation_checkpoint_interval=run.compute.activation_checkpoint_interval,
    )
