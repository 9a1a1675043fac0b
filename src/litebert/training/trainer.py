"""Training, start to finish. Before: a model, batches, settings. After: a trained model, `metrics.jsonl`, checkpoints.

A run that is started again in its directory goes on where its newest valid checkpoint stands, bit by bit as if it had
never stopped: batches, learning rate and dropout are functions of the step.
"""

import logging
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError, LitebertError, StoppedBySignalError
from litebert.randomness import torch_seed_for
from litebert.training.checkpoint import Checkpoint, Checkpoints, read_state, read_tensors
from litebert.training.duration import Duration, Measure, Position
from litebert.training.events import Listener
from litebert.training.fingerprint import flat, parameters_digest, refuse_changes
from litebert.training.optimizers import build_optimizer
from litebert.training.parallel import World, place
from litebert.training.precision import gradient_scaler
from litebert.training.prefetch import Prefetcher
from litebert.training.protocols import Batch, BatchSource, Number, Objective
from litebert.training.record import Recorder
from litebert.training.schedules import rate_factor
from litebert.training.settings import TrainSettings
from litebert.training.signals import StopSignals
from litebert.training.state import model_tensors, optimizer_tensors, restore_model, restore_optimizer
from litebert.training.step import Updater
from litebert.training.throughput import peak_flops, throughput

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended that reached its duration."""

    steps: int
    tokens: int
    elapsed_seconds: float
    skipped_steps: int
    """Steps left out because a loss or gradient was not finite."""
    evaluation: Mapping[str, Number]
    """The last evaluation of this call; empty without one."""


class Trainer:
    """Trains `model` in place for `settings.duration`, in `directory`, alone or as one of torchrun's processes.

    `fingerprint` names what else the numbers depend on (corpus, tokenizer, model): resuming with another is refused.
    `evaluate` gives the numbers of a held-out set; every rank calls it and must get the same.
    `flops_per_token`, of forward and backward, adds FLOP/s and MFU to the records.
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
        listeners: Sequence[Listener] = (),
        flops_per_token: float | None = None,
    ) -> None:
        self.world = World.current(settings.device)
        self.position = Position()
        self.model = place(model, self.world, sharded=settings.sharded)
        self._batches, self._settings, self._directory = batches, settings, directory
        self._evaluate, self._listeners, self._flops_per_token = evaluate, listeners, flops_per_token
        self._objective, self._began = objective, 0.0
        self._skipped = self._skipped_in_a_row = 0
        peak = peak_flops(self.world.device)
        self._peak_flops = peak and peak * self.world.size
        self._fingerprint = flat(
            {
                "train": settings.numbers(),
                "batches": batches.fingerprint,
                "batch_size": batches.batch_size,
                "parameters": parameters_digest(model),
                **(fingerprint or {}),
            }
        )
        self._measure = Measure(batches.batch_size, batches.examples_per_epoch)
        self._warmup = self._measure.warmup_share(settings.warmup, settings.duration)
        self._scaler = gradient_scaler(settings.precision, self.world.device)
        self._optimizer = build_optimizer(self.model, settings)
        self._updater = Updater(self.model, objective, self._optimizer, self._scaler, settings, self.world)
        self._checkpoints = Checkpoints(directory / "checkpoints", keep=settings.keep_checkpoints)

    def fit(self) -> TrainResult:
        """Train to the end, from the newest valid checkpoint if there is one.

        Raises StoppedBySignalError, with the state saved, after SIGTERM, SIGINT or SIGUSR1; CheckpointError if the
        checkpoint belongs to another run or cannot be written.
        """
        self._resume()
        if self._done:
            logger.info("%s: finished at step %d, nothing to do", self._directory, self.position.step)
        self._began = time.perf_counter() - self.position.seconds
        evaluation: Mapping[str, Number] = {}
        with StopSignals() as signals, Prefetcher(self._batches) as prefetcher, self._recorder() as recorder:
            recorder.started(self._settings.duration, self._measure.steps(self._settings.duration))
            while not self._done:
                before = self.position
                values = self._step(prefetcher.microbatches(before.step))
                signal_number = self._agree(signals.number)
                if self._done or self.position.step % self._settings.log_every == 0:
                    recorder.step(self.position, values | {"elapsed_seconds": self.position.seconds})
                self._stop_if_stuck()
                if self._evaluate and (self._done or self._due(self._settings.evaluate_every, before)):
                    evaluation = self._evaluate(self.model)
                    recorder.evaluation(self.position, evaluation)
                if self._done or signal_number or self._due(self._settings.checkpoint_every, before):
                    self._save(recorder)
                if signal_number and not self._done:
                    raise _stopped(self._directory, self.position.step, signal_number)
        position = self.position
        return TrainResult(position.step, position.tokens, position.seconds, self._skipped, evaluation)

    @property
    def _progress(self) -> float:
        return min(1.0, self._measure.share(self._settings.duration, self.position))

    @property
    def _done(self) -> bool:
        return self._progress >= 1

    def _due(self, every: Duration | None, before: Position) -> bool:
        return every is not None and self._measure.due(every, before, self.position)

    def _learning_rate(self) -> float:
        steps = self._measure.steps(self._settings.duration)
        step_share = 1 / steps if steps else 0.0
        schedule = self._settings.schedule
        factor = rate_factor(schedule, self._progress, warmup=self._warmup, step_share=step_share)
        return self._settings.learning_rate * factor

    def _step(self, microbatches: Sequence[Batch]) -> dict[str, Number]:
        """Do one step and count it; its record."""
        began, learning_rate, step = time.perf_counter(), self._learning_rate(), self.position.step
        totals = self.world.sum(_totals(microbatches, self._objective))
        tokens, examples = totals.pop(_TOKENS), totals.pop(_EXAMPLES)
        seed = torch_seed_for(self._settings.seed, "dropout", step, self.world.rank)
        outcome = self._updater.update(microbatches, totals, learning_rate=learning_rate, seed=seed)
        self.position = replace(self.position, step=step + 1, tokens=self.position.tokens + tokens)
        self._skipped += not outcome.finite
        self._skipped_in_a_row = 0 if outcome.finite else self._skipped_in_a_row + 1
        rates = throughput(
            tokens=tokens,
            examples=examples,
            seconds=time.perf_counter() - began,
            flops_per_token=self._flops_per_token,
            peak=self._peak_flops,
        )
        return {
            "progress": self._progress,
            "learning_rate": learning_rate,
            "loss": outcome.loss,
            **{f"{name}_loss": value for name, value in outcome.losses.items()},
            **{f"{name}_accuracy": value for name, value in outcome.accuracies.items()},
            "grad_norm": outcome.grad_norm,
            "tokens": self.position.tokens,
            "skipped_steps": self._skipped,
            **rates,
        }

    def _agree(self, signal_number: int) -> int:
        """Let every rank see the same time and the same signal; the signal."""
        microseconds = int((time.perf_counter() - self._began) * 1e6)
        agreed = self.world.max({"microseconds": microseconds, "signal": signal_number})
        self.position = replace(self.position, seconds=agreed["microseconds"] / 1e6)
        return agreed["signal"]

    def _stop_if_stuck(self) -> None:
        if self._skipped_in_a_row > self._settings.max_skipped_steps:
            raise LitebertError(
                f"{self._directory}: the loss or the gradient was not finite at {self._skipped_in_a_row} steps in a "
                f"row, the last of them {self.position.step}; the weights were left as they were. Likely causes: a "
                f"learning rate too high for this batch size, too short a warm-up, fp16 where bf16 is needed, or "
                f"broken inputs; change one of them and start in a new directory"
            )

    def _recorder(self) -> Recorder:
        return Recorder(
            self._directory,
            trackers=self._settings.trackers,
            listeners=self._listeners,
            position=self.position,
            silent=self.world.rank > 0,
        )

    def _save(self, recorder: Recorder) -> None:
        recorder.flush()
        state = {
            "position": asdict(self.position),
            "skipped": self._skipped,
            "skipped_in_a_row": self._skipped_in_a_row,
            "scaler": self._scaler.state_dict(),
            "fingerprint": self._fingerprint,
        }
        tensors = model_tensors(self.model), optimizer_tensors(self.model, self._optimizer)
        checkpoint = Checkpoint(self.position.step, state, *tensors)
        recorder.saved(self.position, self.world.on_first(lambda: self._checkpoints.save(checkpoint)))

    def _resume(self) -> None:
        """Go where the newest valid checkpoint stands, if there is one."""
        path = self.world.on_first(self._checkpoints.newest_valid)
        if path is None:
            return
        if not path.is_dir():
            raise CheckpointError(f"{path}: not seen by rank {self.world.rank}; all machines must share the directory")
        state = read_state(path)
        allowed = self._settings.allow_changes
        refuse_changes(state["fingerprint"], self._fingerprint, where=path, allowed=allowed)
        model, optimizer = read_tensors(path)
        restore_model(self.model, model)
        restore_optimizer(self.model, self._optimizer, optimizer)
        self.position = Position(**state["position"])
        self._skipped, self._skipped_in_a_row = state["skipped"], state["skipped_in_a_row"]
        if state["scaler"] and self._scaler.is_enabled():
            self._scaler.load_state_dict(state["scaler"])
        logger.info("resuming from %s", path)


_TOKENS, _EXAMPLES = "batch/tokens", "batch/examples"


def _totals(microbatches: Sequence[Batch], objective: Objective) -> dict[str, int]:
    """Labels of each loss in this rank's part of the step, and its tokens and examples."""
    totals: Counter[str] = Counter()
    for batch in microbatches:
        totals.update(objective.counts(batch))
        totals.update({_TOKENS: batch.num_tokens, _EXAMPLES: batch.num_examples})
    return dict(totals)


def _stopped(directory: Path, step: int, signal_number: int) -> StoppedBySignalError:
    name = signal.Signals(signal_number).name
    return StoppedBySignalError(
        f"{directory}: stopped by {name} after step {step}, with everything saved; the same command goes on from there",
        signal_number=signal_number,
    )
