"""Training, start to finish. Before: a model, batches, settings. After: a trained model, `metrics.jsonl`, checkpoints.

A run that is started again in its directory goes on where its newest valid checkpoint stands, bit by bit as if it had
never stopped: batches, learning rate and dropout are functions of the position.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError
from litebert.randomness import torch_seed_for
from litebert.training.checkpoint import Checkpoint, Checkpoints, read_state, read_tensors
from litebert.training.duration import Position
from litebert.training.endings import spiked, stopped
from litebert.training.events import Listener
from litebert.training.fingerprint import Fingerprint, flat, parameters_digest, refuse_changes
from litebert.training.lock import locked
from litebert.training.memory import explained_memory, memory_used
from litebert.training.optimizers import build_optimizer
from litebert.training.parallel import World, is_sharded, place
from litebert.training.patience import Patience
from litebert.training.plan import Plan
from litebert.training.plateau import PlateauWatch
from litebert.training.precision import gradient_scaler
from litebert.training.prefetch import Prefetcher
from litebert.training.protocols import Batch, BatchSource, Number, Objective
from litebert.training.record import Recorder
from litebert.training.saving import Saver
from litebert.training.settings import TrainSettings
from litebert.training.signals import StopSignals
from litebert.training.spikes import SpikeWatch, StepReport
from litebert.training.state import model_tensors, optimizer_tensors, restore_model, restore_optimizer
from litebert.training.step import StepOutcome, Updater
from litebert.training.throughput import peak_flops, throughput

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended that reached its duration."""

    steps: int
    tokens: int
    elapsed_seconds: float
    skipped_steps: int
    """Steps left out because a loss or gradient was not finite or far above those before."""
    evaluation: Mapping[str, Number]
    """The last evaluation of this call; empty without one."""
    learning_rate: float = 0.0
    """That of the update that would come next: 0, or above it where the run was stopped before its schedule ended."""
    stopped_early: bool = False
    """Whether its evaluations no longer got better, so that it ended before its duration."""


class Trainer:
    """Trains `model` in place for `settings.duration`, in `directory`, alone or as one of torchrun's processes.

    `fingerprint` names what else the numbers depend on (corpus, tokenizer, model): resuming with another is refused.
    `evaluate` gives the numbers of a held-out set; every rank calls it and must get the same.
    `baselines` gives losses by name that a model reaches without learning anything of its inputs; a run that stays
    there is warned of.
    `patience` ends the run where its evaluations no longer get better; the schedule stays that of the whole duration.
    `rate_factors` gives, by name, parameters whose learning rate is that share of the schedule's.
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
        baselines: Mapping[str, float] | None = None,
        patience: Patience | None = None,
        rate_factors: Mapping[str, float] | None = None,
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
        self._optimizer = build_optimizer(self.model, settings, rate_factors=rate_factors or {})
        self._updater = Updater(self.model, objective, self._optimizer, self._scaler, settings, self.world)
        self._checkpoints = Checkpoints(directory / "checkpoints", keep=settings.keep_checkpoints)
        self._spikes = SpikeWatch(settings.spikes)
        self._plateau = PlateauWatch(baselines or {})
        self._patience = patience or Patience()

    def fit(self) -> TrainResult:
        """Train to the end, from the newest valid checkpoint if there is one.

        Raises StoppedBySignalError, with the state saved, after SIGTERM, SIGINT or SIGUSR1; CheckpointError if the
        directory is in use, its checkpoint belongs to another run or cannot be written; OutOfMemoryError;
        LitebertError if step after step is not finite or a spike.
        """
        with self._locked():
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
        return self._plan.done(self.position) or self._patience.exhausted

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the directory, on the first rank and for all of them."""
        lock = locked(self._directory)
        self.world.on_first(lock.__enter__)
        try:
            yield
        finally:
            if self.world.rank == 0:
                lock.__exit__(None, None, None)

    def _train(self) -> Mapping[str, Number]:
        """Step until the run is done; the last evaluation."""
        evaluation: Mapping[str, Number] = {}
        began = time.perf_counter() - self.position.seconds
        with (
            StopSignals() as signals,
            Prefetcher(self._batches) as prefetcher,
            self._recorder() as recorder,
            Saver(self._checkpoints, before=recorder.flush) as saver,
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
                if self._too_many_spikes():
                    self._go_back_or_stop(recorder, saver)
                    continue
                if self._evaluate and self._plan.evaluates(before, self.position):
                    evaluation = self._evaluate(self.model)
                    recorder.evaluation(self.position, evaluation)
                    self._patience.saw(evaluation)
                if signal_number or self._patience.exhausted or self._plan.saves(before, self.position):
                    self._save(recorder, saver)
                if signal_number and not self._ended:
                    self._finish_saving(recorder, saver)
                    raise stopped(self._directory, self.position.step, signal_number)
            self._finish_saving(recorder, saver)
        return evaluation

    def _step(self, microbatches: Sequence[Batch]) -> dict[str, Number]:
        """Do one step and count it; its record."""
        began, before = time.perf_counter(), self.position
        counts = self.world.sum(_counts(microbatches, self._objective))
        tokens, examples = counts.pop(_TOKENS), counts.pop(_EXAMPLES)
        learning_rate = self._plan.learning_rate(before)
        seed = torch_seed_for(self._settings.seed, "dropout", before.step, self.world.rank)
        with explained_memory(microbatches, self.world.device):
            outcome = self._updater.update(
                microbatches, counts, learning_rate=learning_rate, seed=seed, limits=self._spikes.limits
            )
        self.position = before.stepped(tokens=tokens, applied=outcome.applied)
        self._watch(before, outcome, learning_rate)
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
            "rollbacks": self.position.rollbacks,
            "memory_bytes": memory_used(self.world.device),
            **rates,
        }

    def _watch(self, before: Position, outcome: StepOutcome, learning_rate: float) -> None:
        """Remember what tells a spike from a step, and a plateau from progress."""
        report = StepReport(
            step=self.position.step,
            batch=before.batch,
            applied=outcome.applied,
            loss=outcome.loss,
            losses=outcome.losses,
            grad_norm=outcome.grad_norm,
            learning_rate=learning_rate,
            limits=outcome.limits,
        )
        self._spikes.saw(report)
        if self.world.rank == 0 and not outcome.applied:
            logger.warning("%s", report.to_text())
        progress = self._plan.progress(self.position)
        if outcome.applied and progress > self._plan.warmup:
            for name in self._plateau.saw(outcome.losses, progress=progress):
                self._plateau.warn(name)

    def _agree(self, seconds: float, signal_number: int, *, saved: bool) -> tuple[int, bool]:
        """Let every rank see the same time; the signal that any got, and whether a checkpoint's writing ended."""
        own = {"microseconds": int(seconds * 1e6), "signal": signal_number, "saved": int(saved)}
        agreed = self.world.max(own)
        self.position = replace(self.position, seconds=agreed["microseconds"] / 1e6)
        return agreed["signal"], bool(agreed["saved"])

    def _too_many_spikes(self) -> bool:
        skipped = self.position.skipped_in_a_row
        at_once = skipped and self._settings.spikes.policy == "stop" and self._spikes.last_was_finite
        return bool(at_once) or skipped > self._settings.max_skipped_steps

    def _go_back_or_stop(self, recorder: Recorder, saver: Saver) -> None:
        """Return to a checkpoint from before the spikes, with other batches; a LitebertError where that cannot be."""
        self._finish_saving(recorder, saver)
        position, spikes = self.position, self._settings.spikes
        dump = self._directory / f"spikes-at-step-{position.step:08d}.json"
        self.world.on_first(lambda: self._spikes.dump(dump))
        until = position.step - position.skipped_in_a_row
        good = self.world.on_first(lambda: self._checkpoints.newest_valid(until=until))
        if good is None or spikes.policy != "rollback" or position.rollbacks >= spikes.max_rollbacks:
            raise spiked(self._directory, position, dump)
        self._restore(good)
        self.position = position.back_at(self.position)
        recorder.went_back(self.position)
        if self.world.rank == 0:
            logger.warning(
                "%d steps in a row were not finite or spikes: back from step %d to %s, past %d batches (see %s)",
                *(position.skipped_in_a_row, position.step, good, position.step - self.position.step, dump),
            )

    def _recorder(self) -> Recorder:
        return Recorder(
            self._directory,
            trackers=self._settings.trackers,
            listeners=self._listeners,
            position=self.position,
            silent=self.world.rank > 0,
        )

    def _save(self, recorder: Recorder, saver: Saver) -> None:
        """Copy the state and begin to write it."""
        self._finish_saving(recorder, saver)
        if self.world.rank > 0 and not is_sharded(self.model):
            return
        state = {
            "position": asdict(self.position),
            "scaler": self._scaler.state_dict(),
            "spikes": self._spikes.state(),
            "plateau": self._plateau.state(),
            "patience": self._patience.state(),
            "fingerprint": self._fingerprint,
        }
        tensors = model_tensors(self.model), optimizer_tensors(self.model, self._optimizer)
        if self.world.rank == 0:
            saver.start(Checkpoint(self.position.step, state, *tensors), self.position)

    def _finish_saving(self, recorder: Recorder, saver: Saver) -> None:
        """Wait for the checkpoint that is being written, if any, and tell of it; its failure reaches every rank."""

        def finish() -> None:
            if done := saver.finish():
                recorder.saved(done.position, done.path)

        self.world.on_first(finish)

    def _resume(self) -> None:
        """Go where the newest valid checkpoint stands, if there is one."""
        path = self.world.on_first(self._checkpoints.newest_valid)
        if path is None:
            return
        if not path.is_dir():
            raise CheckpointError(f"{path}: not seen by rank {self.world.rank}; all machines must share the directory")
        saved = read_state(path)["fingerprint"]
        refuse_changes(saved, self._fingerprint, where=path, allowed=self._settings.allow_changes)
        self._restore(path)
        logger.info("resuming from %s", path)

    def _restore(self, path: Path) -> None:
        """Put back all that `_save` kept."""
        state = read_state(path)
        model, optimizer = read_tensors(path)
        restore_model(self.model, model)
        restore_optimizer(self.model, self._optimizer, optimizer)
        self.position = Position(**state["position"])
        self._spikes.restore(state["spikes"])
        self._plateau.restore(state["plateau"])
        self._patience.restore(state.get("patience", Patience().state()))
        if state["scaler"]:
            self._scaler.load_state_dict(state["scaler"])


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
