"""Training, start to finish. Before: a model, batches, settings. After: a trained model, `metrics.jsonl`, checkpoints.

A run that is started again in its directory goes on where its newest valid checkpoint stands, bit by bit as if it had
never stopped: batches, learning rate and dropout are functions of the position.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError
from litebert.randomness import torch_seed_for
from litebert.training.checkpointing.async_checkpointer import AsyncCheckpointer
from litebert.training.checkpointing.checkpoint import Checkpoint, Checkpoints, read_state, read_tensors
from litebert.training.checkpointing.fingerprint import Fingerprint
from litebert.training.checkpointing.run_lock import locked
from litebert.training.checkpointing.state_tensors import (
    model_tensors,
    optimizer_tensors,
    restore_model,
    restore_optimizer,
)
from litebert.training.distributed.context import DistributedContext, distribute_model, is_sharded
from litebert.training.loop.duration import TrainingProgress
from litebert.training.loop.memory import explained_memory, memory_used
from litebert.training.loop.precision import gradient_scaler
from litebert.training.loop.prefetch import Prefetcher
from litebert.training.loop.run_schedule import RunSchedule
from litebert.training.loop.signals import StopSignals
from litebert.training.loop.step import StepCounts, TrainStep
from litebert.training.loop.throughput import peak_flops, throughput
from litebert.training.monitoring.early_stopping import EarlyStopping
from litebert.training.monitoring.events import Listener
from litebert.training.monitoring.metric_logger import MetricLogger
from litebert.training.monitoring.monitors import Monitors
from litebert.training.monitoring.trackers import require_trackers
from litebert.training.optim.optimizers import build_optimizer
from litebert.training.protocols import Batch, BatchSource, Number, Objective
from litebert.training.result import TrainResult, divergence_error, interrupted_error
from litebert.training.train_settings import TrainSettings

logger = logging.getLogger(__name__)


class Trainer:
    """Trains `model` in place for `settings.duration`, in `directory`, alone or as one of torchrun's processes.

    `fingerprint` names what else the numbers depend on (corpus, tokenizer, model): resuming with another is refused.
    `evaluate` gives the numbers of a held-out set; every rank calls it and must get the same.
    `baselines` gives losses by name that a model reaches without learning anything of its inputs; a run that stays
    there is warned of.
    `patience` ends the run where its evaluations no longer get better; the schedule stays that of the whole duration.
    `lr_multipliers` gives, by name, parameters whose learning rate is that share of the schedule's.
    `flops_per_token`, of forward and backward, adds FLOP/s and MFU to the records.
    What does not fit together is refused here; nothing is written before `fit`.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        objective: Objective,
        batches: BatchSource,
        settings: TrainSettings,
        directory: Path,
        fingerprint: Mapping[str, Any] | None = None,
        evaluate: Callable[[nn.Module], Mapping[str, Number]] | None = None,
        baselines: Mapping[str, float] | None = None,
        patience: EarlyStopping | None = None,
        lr_multipliers: Mapping[str, float] | None = None,
        listeners: Sequence[Listener] = (),
        flops_per_token: float | None = None,
    ) -> None:
        self.world = DistributedContext.current(settings.device)
        self.world.on_rank_zero(lambda: require_trackers(settings.trackers))
        self.model = distribute_model(model, self.world, sharded=settings.sharded)
        self.position = TrainingProgress()
        self._batches, self._objective, self._settings = batches, objective, settings
        self._directory, self._evaluate, self._listeners = directory, evaluate, listeners
        self._flops_per_token, self._peak = flops_per_token, peak_flops(self.world)
        self._plan = RunSchedule.of(settings, batches)
        self._fingerprint = Fingerprint.of(model, batches, settings, fingerprint or {})
        self._scaler = gradient_scaler(settings.precision, self.world.device)
        self._optimizer = build_optimizer(self.model, settings, lr_multipliers=lr_multipliers or {})
        self._updater = TrainStep(self.model, objective, self._optimizer, self._scaler, settings, self.world)
        self._checkpoints = Checkpoints(directory / "checkpoints", keep=settings.keep_checkpoints)
        self._watchers = Monitors(
            self._plan, baselines=baselines or {}, patience=patience or EarlyStopping(), silent=self.world.rank > 0
        )

    def fit(self) -> TrainResult:
        """Train to the end, from the newest valid checkpoint if there is one.

        Raises StoppedBySignalError, with the state saved, after SIGTERM, SIGINT or SIGUSR1; CheckpointError if the
        directory is in use, its checkpoint belongs to another run or cannot be written; OutOfMemoryError;
        LitebertError if step after step is not finite or a spike.
        """
        with self.world.rank_zero_context(locked(self._directory)):
            self._resume()
            if self._ended:
                logger.info("%s: finished at step %d, nothing to do", self._directory, self.position.step)
            evaluation = self._train()
        position = self.position
        early, rate = not self._plan.done(position), self._plan.learning_rate(position)
        return TrainResult(
            position.step, position.tokens, position.seconds, position.skipped, evaluation, rate, stopped_early=early
        )

    @property
    def _ended(self) -> bool:
        return self._plan.done(self.position) or self._watchers.out_of_patience

    def _resume(self) -> None:
        """Go where the newest valid checkpoint stands, if there is one."""
        path = self.world.on_rank_zero(self._checkpoints.newest_valid)
        if path is None:
            return
        if not path.is_dir():
            raise CheckpointError(f"{path}: not seen by rank {self.world.rank}; all machines must share the directory")
        saved = read_state(path)["fingerprint"]
        self._fingerprint.validate_unchanged(saved, where=path, allowed=self._settings.allow_config_changes)
        self._restore(path)
        logger.info("resuming from %s", path)

    def _restore(self, path: Path) -> None:
        """Put back all that `_save` kept."""
        state = read_state(path)
        model, optimizer = read_tensors(path)
        restore_model(self.model, model)
        restore_optimizer(self.model, self._optimizer, optimizer)
        self.position = TrainingProgress(**state["position"])
        self._watchers.restore(state)
        if state["scaler"]:
            self._scaler.load_state_dict(state["scaler"])

    def _train(self) -> Mapping[str, Number]:
        """Step until the run is done; the last evaluation."""
        evaluation: Mapping[str, Number] = {}
        began = time.perf_counter() - self.position.seconds
        with (
            StopSignals() as signals,
            Prefetcher(self._batches) as prefetcher,
            self._recorder() as recorder,
            AsyncCheckpointer(self._checkpoints, before=recorder.flush) as saver,
        ):
            recorder.started(self._settings.duration, self._plan.total_steps)
            while not self._ended:
                before = self.position
                values = self._step(prefetcher.microbatches(before.batch))
                signal_number, saved = self._agree(time.perf_counter() - began, signals.number, saved=saver.ended)
                if self._plan.logs(self.position):
                    recorder.step(self.position, values | {"elapsed_seconds": self.position.seconds})
                if saved:
                    self._finish_saving(recorder, saver)
                if self._watchers.too_many_spikes(self.position):
                    self._go_back_or_stop(recorder, saver)
                    continue
                if self._evaluate and self._plan.evaluates(before, self.position):
                    evaluation = self._evaluate(self.model)
                    recorder.evaluation(self.position, evaluation)
                    self._watchers.saw_evaluation(evaluation)
                if signal_number or self._watchers.out_of_patience or self._plan.saves(before, self.position):
                    self._save(recorder, saver)
                if signal_number and not self._ended:
                    self._finish_saving(recorder, saver)
                    raise interrupted_error(self._directory, self.position.step, signal_number)
            self._finish_saving(recorder, saver)
        return evaluation

    def _recorder(self) -> MetricLogger:
        return MetricLogger(
            self._directory,
            trackers=self._settings.trackers,
            listeners=self._listeners,
            position=self.position,
            silent=self.world.rank > 0,
        )

    def _step(self, microbatches: Sequence[Batch]) -> dict[str, Number]:
        """Do one step and count it; its record."""
        began, before = time.perf_counter(), self.position
        counts = StepCounts.of(microbatches, self._objective, self.world)
        learning_rate = self._plan.learning_rate(before)
        seed = torch_seed_for(self._settings.seed, "dropout", before.step, self.world.rank)
        with explained_memory(microbatches, self.world.device):
            outcome = self._updater.update(
                microbatches, counts.labels, learning_rate=learning_rate, seed=seed, limits=self._watchers.limits
            )
        self.position = before.stepped(tokens=counts.tokens, applied=outcome.applied)
        self._watchers.saw_step(outcome, before=before, now=self.position)
        rates = throughput(
            tokens=counts.tokens,
            examples=counts.examples,
            seconds=time.perf_counter() - began,
            flops_per_token=self._flops_per_token,
            peak=self._peak,
        )
        return {
            "progress": self._plan.progress(self.position),
            "learning_rate": learning_rate,
            **outcome.numbers(),
            "tokens": self.position.tokens,
            "skipped_steps": self.position.skipped,
            "rollbacks": self.position.rollbacks,
            "memory_bytes": memory_used(self.world.device),
            **rates,
        }

    def _agree(self, seconds: float, signal_number: int, *, saved: bool) -> tuple[int, bool]:
        """Let every rank see the same time; the signal that any got, and whether a checkpoint's writing ended."""
        own = {"microseconds": int(seconds * 1e6), "signal": signal_number, "saved": int(saved)}
        agreed = self.world.max(own)
        self.position = replace(self.position, seconds=agreed["microseconds"] / 1e6)
        return agreed["signal"], bool(agreed["saved"])

    def _go_back_or_stop(self, recorder: MetricLogger, saver: AsyncCheckpointer) -> None:
        """Return to a checkpoint from before the spikes, with other batches; a LitebertError where that cannot be."""
        self._finish_saving(recorder, saver)
        position = self.position
        dump = self._directory / f"spikes-at-step-{position.step:08d}.json"
        self.world.on_rank_zero(lambda: self._watchers.dump(dump))
        until = position.step - position.skipped_in_a_row
        good = self.world.on_rank_zero(lambda: self._checkpoints.newest_valid(until=until))
        if good is None or not self._watchers.may_go_back(position):
            raise divergence_error(self._directory, position, dump)
        self._restore(good)
        self.position = position.rollback_to(self.position)
        recorder.rolled_back(self.position)
        if self.world.rank == 0:
            logger.warning(
                "%d steps in a row were not finite or spikes: back from step %d to %s, past %d batches (see %s)",
                *(position.skipped_in_a_row, position.step, good, position.step - self.position.step, dump),
            )

    def _save(self, recorder: MetricLogger, saver: AsyncCheckpointer) -> None:
        """Copy the state and begin to write it."""
        self._finish_saving(recorder, saver)
        if self.world.rank > 0 and not is_sharded(self.model):
            return
        state = {
            "position": asdict(self.position),
            "scaler": self._scaler.state_dict(),
            **self._watchers.state(),
            "fingerprint": self._fingerprint.values,
        }
        tensors = model_tensors(self.model), optimizer_tensors(self.model, self._optimizer)
        if self.world.rank == 0:
            saver.start(Checkpoint(self.position.step, state, *tensors), self.position)

    def _finish_saving(self, recorder: MetricLogger, saver: AsyncCheckpointer) -> None:
        """Wait for the checkpoint that is being written, if any, and tell of it; its failure reaches every rank."""

        def finish() -> None:
            if done := saver.finish():
                recorder.saved(done.position, done.path)

        self.world.on_rank_zero(finish)
