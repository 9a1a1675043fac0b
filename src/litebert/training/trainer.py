"""The trainer: trains a model on the batches of a source, with checkpoints, evaluation and callbacks.

A run that is started again in its directory resumes from its newest valid checkpoint and gives the same bits as one
without interruption: batches, learning rate and dropout are functions of the progress.
"""

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import nn

from litebert.device import validate_chosen
from litebert.errors import ConfigError, StoppedBySignalError
from litebert.randomness import torch_seed_for
from litebert.training.callbacks.callback import Callback, Rollback, RunState, StepRecord, has_state
from litebert.training.callbacks.metric_logger import MetricLogger, require_trackers
from litebert.training.callbacks.spike_detector import SpikeDetector
from litebert.training.checkpointing.checkpoint import AsyncCheckpointer, Checkpoints, locked_directory
from litebert.training.checkpointing.run_checkpoints import Fingerprint, RunCheckpoints
from litebert.training.distributed.context import DistributedContext, distribute_model
from litebert.training.loop.freed_memory import freed_memory_kept
from litebert.training.loop.memory import memory_used, translate_memory_errors
from litebert.training.loop.prefetcher import Prefetcher
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from litebert.training.loop.signals import StopSignals, interruptible
from litebert.training.loop.step import (
    StepCounts,
    StepOutcome,
    TrainStep,
    UpdateLimits,
    gradient_scaler,
)
from litebert.training.loop.throughput import peak_flops, throughput
from litebert.training.optim.optimizers import build_optimizer
from litebert.training.protocols import Batch, BatchSource, Number, Objective
from litebert.training.train_settings import TrainSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """Where a run is stored, and what the trainer cannot know from model, batches and settings."""

    directory: Path
    seed: int = 0
    """Seed of dropout."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """What a resumed run may not change, such as the digest of the corpus."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """Digests of the fingerprint → what they are of, such as `batches`: `the training rows of FILE`."""
    model_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files, such as the config and the vocabulary, with which each checkpoint is a model directory: name → content."""
    flops: Callable[[Any], int] | None = None
    """FLOPs of forward and backward of a microbatch, for FLOP/s and MFU in the metrics."""


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The result of a run that reached its duration or was stopped by a callback."""

    steps: int
    tokens: int
    elapsed_seconds: float
    step_seconds: float
    """Time spent in steps, without evaluation and the copies for checkpoints."""
    skipped_steps: int
    """Steps without an update, because a loss or gradient was not finite or was a spike."""
    evaluation: Mapping[str, Number]
    """The last evaluation of this call of `fit`; empty without one."""
    learning_rate: float
    """That of the next update: 0 at the end of most schedules, above 0 if the run was stopped early."""
    stopped_early: bool
    """Whether a callback stopped the run before its duration."""


class Trainer:
    """Trains `model` in place for `settings.duration`, in one process or in each of torchrun's processes.

    `evaluate` returns metrics of the model; every rank calls it and must get the same metrics.
    `callbacks` are called after those of the trainer itself: metric logging and spike detection.
    `lr_multipliers` maps names of parameters to factors of the learning rate, 1 by default.
    Arguments that do not fit together are refused here; nothing is written before `fit`.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        objective: Objective,
        batches: BatchSource,
        settings: TrainSettings,
        run: RunInfo,
        evaluate: Callable[[nn.Module], Mapping[str, Number]] | None = None,
        callbacks: Sequence[Callback] = (),
        lr_multipliers: Mapping[str, float] | None = None,
    ) -> None:
        validate_chosen(settings.precision)
        self.world = DistributedContext.current(settings.device)
        self.world.on_rank_zero(lambda: require_trackers(settings.trackers))
        self.model = model
        distribute_model(model, self.world, fsdp=settings.fsdp)
        self._info, self._batches, self._objective, self._evaluate = run, batches, objective, evaluate
        self._evaluation: Mapping[str, Number] = {}
        self._schedule = RunSchedule.of(settings, batches)
        self._run = RunState(self.model, run.directory, self.world, self._schedule)
        optimizer = build_optimizer(self.model, settings, lr_multipliers=lr_multipliers or {})
        scaler = gradient_scaler(settings.precision, self.world.device)
        self._train_step = TrainStep(self.model, objective, optimizer, scaler, settings, self.world)
        metric_logger = MetricLogger()
        self._callbacks = _on_this_rank([metric_logger, SpikeDetector(settings), *callbacks], self.world.rank)
        path, keep = run.directory / "checkpoints", settings.keep_checkpoints
        checkpoints = Checkpoints(path, keep=keep, files=run.model_files)
        self._checkpointer = AsyncCheckpointer(checkpoints, before=metric_logger.flush)
        self._checkpoints = RunCheckpoints(
            self._run,
            optimizer=optimizer,
            scaler=scaler,
            fingerprint=Fingerprint.of(
                model, batches, settings, {"seed": run.seed, **run.fingerprint}, descriptions=run.descriptions
            ),
            callbacks=self._callbacks,
            checkpointer=self._checkpointer,
        )
        self._signals, self._signal, self._start = StopSignals(), 0, 0.0
        self._is_overdue = False
        """Whether the interval of checkpoints ended in steps that were skipped."""

    @property
    def progress(self) -> TrainingProgress:
        """How far the run has come."""
        return self._run.progress

    def validate_checkpoint(self) -> None:
        """Raise CheckpointError if the newest valid checkpoint is of another run, before anything is written."""
        self._checkpoints.validate()

    def fit(self, *, on_locked: Callable[[], None] = lambda: None) -> TrainResult:
        """Train to the end, from the newest valid checkpoint if there is one; call it once.

        `on_locked` is called on rank 0 once no other process can train in the directory, and its checkpoint is loaded.

        Raises StoppedBySignalError, with the state saved, after SIGTERM, SIGINT, SIGUSR1 or SIGHUP; CheckpointError if
        the directory is in use, its checkpoint is of another run or cannot be written; OutOfMemoryError; DivergedError
        if too many steps in a row are not finite or are spikes.
        """
        with self.world.rank_zero_context(locked_directory(self._info.directory)):
            self._checkpoints.resume()
            self.world.on_rank_zero(on_locked)
            with (
                self._signals,
                Prefetcher(self._batches) as prefetcher,
                self._running_callbacks(),
                self._checkpointer,
                freed_memory_kept() if self.world.device.type == "cpu" else nullcontext(),
            ):
                self._train(prefetcher)
                self._checkpoints.finish()
        progress = self.progress
        return TrainResult(
            steps=progress.step,
            tokens=progress.tokens,
            elapsed_seconds=progress.seconds,
            step_seconds=progress.step_seconds,
            skipped_steps=progress.skipped_steps,
            evaluation=self._evaluation,
            learning_rate=self._schedule.learning_rate(progress),
            stopped_early=not self._schedule.done(progress),
        )

    @property
    def _ended(self) -> bool:
        return self._schedule.done(self.progress) or self._run.stop_requested

    def _train(self, prefetcher: Prefetcher) -> None:
        """Step until the run ends; evaluate and save when due."""
        self._start = time.perf_counter() - self.progress.seconds
        if self._run.evaluation_due:
            self._evaluate_if_due()
            self._checkpoints.save()
            self._raise_if_interrupted()
        elif self._ended:
            logger.info("%s: finished at step %d, nothing to do", self._info.directory, self.progress.step)
        while not self._ended:
            before = self.progress
            self._step(prefetcher)
            if request := self._run.rollback:
                self._roll_back(request)
                if not self._ended:
                    continue
            due = self._run.stop_requested or self._schedule.evaluates(before, self.progress)
            self._run.evaluation_due = self._evaluate is not None and due
            self._evaluate_if_due()
            if self._save_is_due(since=before):
                self._checkpoints.save()
            self._raise_if_interrupted()

    def _roll_back(self, request: Rollback) -> None:
        """Return to a checkpoint, with the time that has passed: a run whose duration is a time may end there."""
        self._run.rollback, self._is_overdue = None, False
        self._checkpoints.roll_back(request)
        self._call(lambda callback: callback.on_rollback(self._run))

    def _evaluate_if_due(self) -> None:
        """Evaluate and call the callbacks; after a signal, also one during the evaluation, it stays due."""
        if self._evaluate is None or not self._run.evaluation_due or self._signal:
            return
        with interruptible(self.model, self._signals, self.world):
            self._evaluation = self._evaluate(self.model)
            self._run.evaluation_due = False
        self._synchronize()
        if not self._run.evaluation_due:
            self._call(lambda callback: callback.on_evaluate(self._run, self._evaluation))

    def _save_is_due(self, *, since: TrainingProgress) -> bool:
        """Whether the run ends here, or the interval of checkpoints has since then, also during an evaluation.

        While steps are skipped no checkpoint is due, since it would take the place of one that a rollback needs; one
        whose interval ends there is due after the next update.
        """
        if self._ended or self._signal:
            return True
        self._is_overdue |= self._schedule.saves(since, self.progress)
        is_due = self._is_overdue and not self.progress.consecutive_skipped_steps
        self._is_overdue &= not is_due
        return is_due

    def _raise_if_interrupted(self) -> None:
        """Raise StoppedBySignalError, once the state is on disk, if a signal ended the run or its last evaluation."""
        if self._signal and (self._run.evaluation_due or not self._ended):
            self._checkpoints.finish()
            raise StoppedBySignalError(
                f"{self._info.directory}: stopped by {signal.Signals(self._signal).name} after step "
                f"{self.progress.step}; the state is saved, and the same command resumes the run",
                signal_number=self._signal,
            )

    def _step(self, prefetcher: Prefetcher) -> None:
        """Do one step and call the callbacks."""
        step_start, before = time.perf_counter(), self.progress
        microbatches = prefetcher.microbatches(before.batch)
        counts = StepCounts.of(microbatches, self._objective, self.world, flops=self._info.flops)
        outcome = self._update(microbatches, counts)
        seconds = time.perf_counter() - step_start
        self._run.progress = before.after_step(tokens=counts.tokens, applied=outcome.applied)
        self._synchronize(step_seconds=seconds)
        learning_rate, after = self._schedule.learning_rate(before), self.progress
        metrics = {
            "progress": self._schedule.fraction(after),
            "learning_rate": learning_rate,
            **outcome.metrics(),
            "tokens": after.tokens,
            "elapsed_seconds": after.seconds,
            "skipped_steps": after.skipped_steps,
            "rollbacks": after.rollbacks,
            "memory_bytes": memory_used(self.world.device),
            **throughput(counts, seconds, peak=peak_flops(self.world)),
        }
        record = StepRecord(after.step, before.batch, learning_rate, outcome, metrics)
        self._call(lambda callback: callback.on_step(self._run, record))

    def _update(self, microbatches: Sequence[Batch], counts: StepCounts) -> StepOutcome:
        """Update the weights, within the limits that the callbacks set."""
        limits = [callback.limits(counts.labels) for callback in self._callbacks]
        with translate_memory_errors(microbatches, self.world.device):
            return self._train_step.update(
                microbatches,
                counts.labels,
                learning_rate=self._schedule.learning_rate(self.progress),
                seed=torch_seed_for(self._info.seed, "dropout", self.progress.step, self.world.rank),
                limits=UpdateLimits(min(each.loss for each in limits), min(each.grad_norm for each in limits)),
            )

    def _synchronize(self, *, step_seconds: float = 0.0) -> None:
        """Let all ranks see the same time and signal; finish a checkpoint that has been written."""
        own = {
            "microseconds": int((time.perf_counter() - self._start) * 1e6),
            "step_microseconds": int(step_seconds * 1e6),
            "signal": self._signals.number,
            "written": int(self._checkpointer.ended),
        }
        agreed = self.world.max(own)
        self._run.progress = replace(
            self.progress,
            seconds=agreed["microseconds"] / 1e6,
            step_seconds=self.progress.step_seconds + agreed["step_microseconds"] / 1e6,
        )
        self._signal = agreed["signal"]
        if agreed["written"]:
            self._checkpoints.finish()

    def _call(self, hook: Callable[[Callback], None]) -> None:
        """Call a hook of every callback; a request to stop reaches every rank."""
        for callback in self._callbacks:
            hook(callback)
        self._run.stop_requested = bool(self.world.max({"stop": int(self._run.stop_requested)})["stop"])

    @contextmanager
    def _running_callbacks(self) -> Iterator[None]:
        """Call the first hook before the block and the last one after it, also after an error."""
        try:
            self._call(lambda callback: callback.on_train_begin(self._run))
            yield
        finally:
            for callback in self._callbacks:
                callback.on_train_end(self._run)


def _on_this_rank(callbacks: Sequence[Callback], rank: int) -> list[Callback]:
    names = [callback.name for callback in callbacks if has_state(callback)]
    if len(set(names)) < len(names):
        raise ConfigError(f"callbacks: two of {', '.join(names)} have the same name; give each a `name` of its own")
    return [callback for callback in callbacks if callback.every_rank or rank == 0]
