"""A dry run: one step of each kind of a pretraining run, and from them the memory, time and disk of the whole run."""

import logging
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from litebert.commands.pretrain.corpus_passes import corpus_passes, passes_text
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.commands.pretrain.pretraining_cost import expected_memory, mean_flops_per_token, optimizer_states
from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.commands.result import Result
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.runs.run_precision import with_measured_precision
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.files import free_space, readable_bytes
from litebert.logs import readable_seconds
from litebert.model.model_stats import parameter_counts
from litebert.training.distributed.context import DistributedContext, distributed_context
from litebert.training.loop.memory import OutOfMemoryError, PeakMemory, memory_left
from litebert.training.loop.profile_step import StepProfile, profile_step
from litebert.training.loop.run_schedule import RunSchedule

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DryRun(Result):
    """Memory in bytes per process, time in seconds, disk in bytes."""

    parameters: int
    weights: int
    """By formula, as `gradients`, `optimizer` and `activations`."""
    gradients: int
    optimizer: int
    activations: int
    peak: int
    """Measured during some steps, beyond the memory held before; 0 if the system does not report it."""
    memory_left: int | None
    """Memory of the device that was available before them."""
    processes: int
    device: str
    batch_size: int
    microbatch_size: int
    """The largest that fits in memory among the configured one, its half, its quarter, …"""
    microbatches: int
    """Per step and process."""
    step_seconds: float
    """With all layers, also if the run begins with fewer of them."""
    batch_seconds: float
    """To draw the examples of a step, which a run does during the step before."""
    tokens_per_step: int
    learning_rate: str
    """Peak, warm-up and decay, in words."""
    steps: int
    """Of the whole run; an estimate if its duration is in tokens or time."""
    corpus_tokens: int
    """Of the training split, without the corpora of a mixture."""
    passes: float
    """How often the run reads the training split; an estimate if its duration is in time."""
    seconds: float
    """Of all steps, without evaluations; those with fewer layers by their operations."""
    checkpoint: int
    """Size of one checkpoint."""
    kept_checkpoints: int
    disk_free: int
    loss: float
    """Of the first step; from random weights about ln(vocab_size), plus ln(2) for the sentence pairs."""

    @property
    def disk_needed(self) -> int:
        """The kept checkpoints and the one being written."""
        return self.checkpoint * (self.kept_checkpoints + 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**super().to_dict(), "disk_needed": self.disk_needed}

    def to_text(self) -> str:
        """The report for a person."""
        size = readable_bytes
        available = "" if self.memory_left is None else f" ({size(self.memory_left)} available on {self.device})"
        enough = "" if self.disk_free >= self.disk_needed else ": NOT ENOUGH"
        slow = " (slower than the step: the device will wait)" if self.batch_seconds > self.step_seconds else ""
        return "\n".join(
            [
                f"batch of {self.batch_size}: {self.processes} process(es) x {self.microbatches} microbatch(es) of "
                f"{self.microbatch_size}",
                f"memory: {size(self.peak)} measured at the peak{available}; by formula {size(self.weights)} weights, "
                f"{size(self.gradients)} gradients, {size(self.optimizer)} optimizer, {size(self.activations)} "
                f"activations, for {self.parameters:,} parameters",
                f"time: {self.step_seconds:.3g} s per step ({self.tokens_per_step / self.step_seconds:,.0f} tokens/s), "
                f"about {self.steps:,} steps in {readable_seconds(self.seconds)}, without evaluations; "
                f"drawing a step's examples takes {self.batch_seconds:.3g} s{slow}",
                f"corpus: {self.corpus_tokens:,} tokens; {passes_text(self.passes)}",
                f"learning rate: {self.learning_rate}",
                f"disk: {size(self.checkpoint)} per checkpoint, {size(self.disk_needed)} for {self.kept_checkpoints} "
                f"and one being written; {size(self.disk_free)} free{enough}",
                f"first loss: {self.loss:.3f}; nothing was written",
            ]
        )


def dry_run(run: PretrainRun, out: Path) -> DryRun:
    """Train a throw-away model for a step and report what the whole run needs; `out` is not created.

    Corpora, model and `init_checkpoint` are validated as in the run. If the step needs too much memory, the microbatch
    is halved until it fits.
    """
    start = PretrainStart.of(run)
    with distributed_context(run.train) as world, run.compute.kernels():
        start = replace(start, run=with_measured_precision(run, run.model, world))
        available = memory_left(world.device)
        start, profile, peak = _largest_fitting(start, RunDirectory(out), world)
        run = start.run
        schedule = RunSchedule.of(run.train, start.batches(world))
        steps, seconds = _length(run, schedule, profile)
        parameters, states = parameter_counts(run.model).pretraining, optimizer_states(run)
        return DryRun(
            parameters=parameters,
            **asdict(expected_memory(run, processes=world.size)),
            peak=peak,
            memory_left=available,
            processes=world.size,
            device=str(world.device),
            batch_size=run.batch_size,
            microbatch_size=run.microbatch_size,
            microbatches=profile.microbatches,
            step_seconds=profile.step_seconds,
            batch_seconds=profile.batch_seconds,
            tokens_per_step=profile.tokens,
            learning_rate=schedule.to_text(),
            steps=steps,
            corpus_tokens=start.corpus.num_tokens,
            passes=corpus_passes(start, schedule, steps=steps) or 0.0,
            seconds=seconds,
            checkpoint=4 * (parameters + states),
            kept_checkpoints=run.train.keep_checkpoints,
            disk_free=free_space(out),
            loss=profile.loss,
        )


def _largest_fitting(
    start: PretrainStart, directory: RunDirectory, world: DistributedContext
) -> tuple[PretrainStart, StepProfile, int]:
    """`start` with the largest microbatch that fits in memory, the profile of its step, and its peak memory."""
    run = start.run
    try:
        with PeakMemory(world.device) as peak:
            profile = profile_step(
                start.model(directory, world),
                objective=PretrainingObjective(run.sampling.pairing),
                batches=start.batches(world),
                settings=run.train,
                world=world,
                shares=kinds_of_steps(run.sampling),
            )
    except OutOfMemoryError as error:
        # With several processes, those that had enough memory would wait for those that start again.
        if run.microbatch_size == 1 or world.size > 1:
            raise
        logger.warning("%s", error)
        smaller = replace(start, run=run.replace(microbatch_size=run.microbatch_size // 2))
        return _largest_fitting(smaller, directory, world)
    return start, profile, peak.bytes


def kinds_of_steps(sampling: SamplingSettings) -> dict[int, float]:
    """The first masked and the first causal step, and the share of each kind in the run.

    A causal step predicts every token, so it needs more memory and time.
    """
    causal = sampling.causal_fraction
    shares = {False: 1 - causal, True: causal}
    return {
        next(step for step in count() if sampling.is_causal(step) is kind): share
        for kind, share in shares.items()
        if share
    }


def _relative_time_at_first(run: PretrainRun) -> float:
    """Time of a step in the first part of the run, relative to one with all layers, by its operations."""
    if run.first_part is None:
        return 1.0
    return mean_flops_per_token(run.first_part.config, run.sampling) / mean_flops_per_token(run.model, run.sampling)


def _length(run: PretrainRun, schedule: RunSchedule, profile: StepProfile) -> tuple[int, float]:
    """Number of steps of the whole run and the seconds they take."""
    duration = schedule.settings.duration
    relative, fraction = _relative_time_at_first(run), run.first_part.fraction if run.first_part else 0.0
    if duration.unit == "seconds":
        rate = (fraction / relative + 1 - fraction) / profile.step_seconds
        return int(duration.amount * rate), duration.amount
    steps = schedule.total_steps or int(duration.amount / profile.tokens)
    return steps, steps * profile.step_seconds * (fraction * relative + 1 - fraction)
