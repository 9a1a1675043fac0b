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
from litebert.training.duration import Position
from litebert.training.events import Listener
from litebert.training.fingerprint import Fingerprint, flat, parameters_digest, refuse_changes
from litebert.training.optimizers import build_optimizer
from litebert.training.parallel import World, place
from litebert.training.plan import Plan
from litebert.training.precision import gradient_scaler
from litebert.training.prefetch import Prefetcher
from litebert.training.protocols import Batch, BatchSource, Number, Objective
from litebert.training.record import Recorder
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
        self.model = place(model, self.world, sharded=settings.sharded)
        self.position = Position()
        self._batches, self._objective, self._settings = batches, objective, settings
        self._directory, self._evaluate, self._listeners = directory, evaluate, listeners
        self._flops_per_token, self._peak = flops_per_token, peak_flops(self.world)
        self._plan = Plan.of(settings, batches)
        self._fingerprint = _fingerprint(model, batches, settings, fingerprint or {})
        self._scaler = gradient_scaler(settings.precision, self.world.device)
        self._optimizer = build_optimizer(self.model, settings)
        self._updater = Updater(self.model, objective, self._optimizer, self._scaler, settings, self.world)
        self._checkpoints = Checkpoints(directory / "checkpoints", keep=settings.keep_checkpoints)

    def fit(self) -> TrainResult:
        """Train to the end, from the newest valid checkpoint if there is one.

        Raises StoppedBySignalError, with the state saved, after SIGTERM, SIGINT or SIGUSR1; CheckpointError if the
        checkpoint belongs to another run or cannot be written; LitebertError if step after step is not finite.
        """
        self._resume()
        if self._plan.done(self.position):
            logger.info("%s: finished at step %d, nothing to do", self._directory, self.position.step)
        evaluation: Mapping[str, Number] = {}
        began = time.perf_counter() - self.position.seconds
        with StopSignals() as signals, Prefetcher(self._batches) as prefetcher, self._recorder() as recorder:
            recorder.started(self._settings.duration, self._plan.total_steps)
            while not self._plan.done(self.position):
                before = self.position
                values = self._step(prefetcher.microbatches(before.step))
                signal_number = self._agree(time.perf_counter() - began, signals.number)
                if self._plan.logs(self.position):
                    recorder.step(self.position, values | {"elapsed_seconds": self.position.seconds})
                self._stop_if_stuck()
                if self._evaluate and self._plan.evaluates(before, self.position):
                    evaluation = self._evaluate(self.model)
                    recorder.evaluation(self.position, evaluation)
                if signal_number or self._plan.saves(before, self.position):
                    self._save(recorder)
                if signal_number and not self._plan.done(self.position):
                    raise _stopped(self._directory, self.position.step, signal_number)
        position = self.position
        return TrainResult(position.step, position.tokens, position.seconds, position.skipped, evaluation)

    def _step(self, microbatches: Sequence[Batch]) -> dict[str, Number]:
        """Do one step and count it; its record."""
        began, before = time.perf_counter(), self.position
        counts = self.world.sum(_counts(microbatches, self._objective))
        tokens, examples = counts.pop(_TOKENS), counts.pop(_EXAMPLES)
        learning_rate = self._plan.learning_rate(before)
        seed = torch_seed_for(self._settings.seed, "dropout", before.step, self.world.rank)
        outcome = self._updater.update(microbatches, counts, learning_rate=learning_rate, seed=seed)
        self.position = before.stepped(tokens=tokens, finite=outcome.finite)
        rates = throughput(
            tokens=tokens,
            examples=examples,
            seconds=time.perf_counter() - began,
            flops_per_token=self._flops_per_token,
            peak=self._peak,
        )
        return {
            "progress": self._plan.progress(self.position),
            "learning_rate": learning_rate,
            "loss": outcome.loss,
            **{f"{name}_loss": value for name, value in outcome.losses.items()},
            **{f"{name}_accuracy": value for name, value in outcome.accuracies.items()},
            "grad_norm": outcome.grad_norm,
            "tokens": self.position.tokens,
            "skipped_steps": self.position.skipped,
            **rates,
        }

    def _agree(self, seconds: float, signal_number: int) -> int:
        """Let every rank see the same time and the same signal; the signal."""
        agreed = self.world.max({"microseconds": int(seconds * 1e6), "signal": signal_number})
        self.position = replace(self.position, seconds=agreed["microseconds"] / 1e6)
        return agreed["signal"]

    def _stop_if_stuck(self) -> None:
        skipped = self.position.skipped_in_a_row
        if skipped > self._settings.max_skipped_steps:
            raise LitebertError(
                f"{self._directory}: the loss or the gradient was not finite at {skipped} steps in a row, the last of "
                f"them {self.position.step}; the weights were left as they were. Likely causes: a learning rate too "
                f"high for this batch size, too short a warm-up, fp16 where bf16 is needed, or broken inputs; change "
                f"one of them and start in a new directory"
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
        state = {
            "position": asdict(self.position),
            "scaler": self._scaler.state_dict(),
            "fingerprint": self._fingerprint,
        }
        tensors = model_tensors(self.model), optimizer_tensors(self.model, self._optimizer)
        checkpoint = Checkpoint(self.position.step, state, *tensors)

        def write() -> Path:
            recorder.flush()
            return self._checkpoints.save(checkpoint)

        recorder.saved(self.position, self.world.on_first(write))

    def _resume(self) -> None:
        """Go where the newest valid checkpoint stands, if there is one."""
        path = self.world.on_first(self._checkpoints.newest_valid)
        if path is None:
            return
        if not path.is_dir():
            raise CheckpointError(f"{path}: not seen by rank {self.world.rank}; all machines must share the directory")
        state = read_state(path)
        refuse_changes(state["fingerprint"], self._fingerprint, where=path, allowed=self._settings.allow_changes)
        model, optimizer = read_tensors(path)
        restore_model(self.model, model)
        restore_optimizer(self.model, self._optimizer, optimizer)
        self.position = Position(**state["position"])
        if state["scaler"]:
            self._scaler.load_state_dict(state["scaler"])
        logger.info("resuming from %s", path)


_TOKENS, _EXAMPLES = "batch/tokens", "batch/examples"


def _counts(microbatches: Sequence[Batch], objective: Objective) -> dict[str, int]:
    """Labels of each loss in this rank's part of the step, and its tokens and examples."""
    totals: Counter[str] = Counter()
    for batch in microbatches:
        totals.update(objective.counts(batch))
        totals.update({_TOKENS: batch.num_tokens, _EXAMPLES: batch.num_examples})
    return dict(totals)


def _fingerprint(
    model: nn.Module, batches: BatchSource, settings: TrainSettings, others: Mapping[str, Any]
) -> Fingerprint:
    """All that the numbers of a run depend on."""
    own = {
        "train": settings.numbers(),
        "batches": batches.fingerprint,
        "batch_size": batches.batch_size,
        "parameters": parameters_digest(model),
    }
    return flat(own | dict(others))


def _stopped(directory: Path, step: int, signal_number: int) -> StoppedBySignalError:
    name = signal.Signals(signal_number).name
    return StoppedBySignalError(
        f"{directory}: stopped by {name} after step {step}, with everything saved; the same command goes on from there",
        signal_number=signal_number,
    )
