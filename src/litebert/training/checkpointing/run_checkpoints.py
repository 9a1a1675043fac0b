"""Saving, resuming and rolling back a run: model, optimizer, scaler, progress and callbacks as one checkpoint."""

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from litebert.errors import CheckpointError
from litebert.settings import Leaf, Settings, changed_names, flatten, is_permitted
from litebert.training.callbacks.callback import Callback, Rollback, RunState, has_state
from litebert.training.checkpointing.checkpoint import AsyncCheckpointer, Checkpoint, read_state, read_tensors
from litebert.training.distributed.context import gather_full, is_sharded, shard_like
from litebert.training.loop.run_schedule import TrainingProgress
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings

logger = logging.getLogger(__name__)
SETTINGS_OF_BATCHES = frozenset({"batch_size", "corpus", "data", "data_mixture", "max_length", "sampling", "seed"})
"""A change of these that is permitted changes the digest of the batches, too."""
PARAMETERS = "parameters"
"""Field of a fingerprint: weights of other names or shapes cannot be loaded."""
OPTIMIZER, MUON_PARAMETERS = "train.optimizer", "train.muon_parameters"
"""Fields of a fingerprint that say which parameter has which optimizer; the second only where the first is `muon`."""
DESCRIPTIONS = {"batches": "the examples of the batches", PARAMETERS: "the names or shapes of the parameters"}
"""What the digests of the trainer itself are of."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Plain values under dotted names, stored in every checkpoint."""

    values: dict[str, Leaf]
    defaults: Mapping[str, Leaf] = field(default_factory=dict)
    """Of settings, for checkpoints of a version that did not have them."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """Name of each digest → what it is of, in the plural; a digest itself says nothing to a person."""

    @classmethod
    def of(
        cls,
        model: nn.Module,
        batches: BatchSource,
        settings: TrainSettings,
        others: Mapping[str, Any],
        *,
        descriptions: Mapping[str, str] | None = None,
    ) -> "Fingerprint":
        """The fingerprint of a run; `others` is what the trainer does not know, such as the corpus."""
        own = {
            "train": settings.numeric_settings(),
            "batches": batches.fingerprint,
            "batch_size": batches.batch_size,
            PARAMETERS: parameters_digest(model),
        }
        defaults = defaults_of({**others, "train": settings})
        return cls(flatten(own | dict(others)), defaults, {**DESCRIPTIONS, **(descriptions or {})})

    def validate_unchanged(self, saved: Mapping[str, Leaf], *, where: Path, allowed: Collection[str]) -> None:
        """Raise a CheckpointError that names every field in which the run differs from its checkpoint."""
        saved = {name: self.defaults[name] for name in self.values if name in self.defaults} | dict(saved)
        if any(name.partition(".")[0] in SETTINGS_OF_BATCHES for name in allowed):
            allowed = (*allowed, "batches")
        changed = changed_names(saved, self.values)
        refused = [name for name in changed if name == PARAMETERS or not is_permitted(name, allowed)]
        if refused:
            changes = "; ".join(self._change(name, saved.get(name)) for name in refused)
            permission = f"permit the change by train.allow_config_changes=[{','.join(refused)}]"
            other_run = "start in a new directory"
            advice = f"or {other_run}" if PARAMETERS in refused else f"{other_run}, or {permission}"
            raise CheckpointError(f"{where}: the checkpoint is of another run: {changes}. Restore these, {advice}")

    def has_other_optimizer(self, saved: Mapping[str, Leaf]) -> bool:
        """Whether some parameters had an optimizer that needs other moments."""
        complete = {**self.defaults, **saved}
        deciding = (OPTIMIZER, MUON_PARAMETERS) if self.values.get(OPTIMIZER) == "muon" else (OPTIMIZER,)
        return any(complete.get(name) != self.values.get(name) for name in deciding)

    def _change(self, name: str, before: Leaf) -> str:
        if name in self.descriptions:
            return f"{self.descriptions[name]} are not those that the run began with ({name})"
        return f"{name} was {before!r}, is {self.values.get(name)!r}"


def defaults_of(values: Mapping[str, Any]) -> dict[str, Leaf]:
    """The default of each field of the settings among `values`, under its dotted name."""
    found = {}
    for name, value in values.items():
        if isinstance(value, Settings):
            fields = {key: each for key, each in type(value).model_fields.items() if not each.is_required()}
            found[name] = {key: each.get_default(call_default_factory=True) for key, each in fields.items()}
    return flatten(found)


def parameters_digest(model: nn.Module) -> str:
    """A digest that changes with the name or shape of any parameter."""
    shapes = "\n".join(f"{name} {tuple(parameter.shape)}" for name, parameter in sorted(model.named_parameters()))
    return hashlib.sha256(shapes.encode()).hexdigest()[:16]


class RunCheckpoints:
    """The checkpoints of one run in `checkpoints/` of its directory; every rank must call each method."""

    def __init__(
        self,
        run: RunState,
        *,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
        fingerprint: Fingerprint,
        callbacks: Sequence[Callback],
        checkpointer: AsyncCheckpointer,
    ) -> None:
        self._run, self._optimizer, self._scaler = run, optimizer, scaler
        self._fingerprint, self._callbacks, self._checkpointer = fingerprint, callbacks, checkpointer

    def validate(self) -> Path | None:
        """The newest valid checkpoint, if there is one; a CheckpointError if it is of another run."""
        path = self._newest_valid()
        if path is None:
            return None
        if not path.is_dir():
            rank = self._run.world.rank
            raise CheckpointError(f"{path}: not seen by rank {rank}; all machines must share the directory")
        allowed = self._run.schedule.settings.allow_config_changes
        self._fingerprint.validate_unchanged(read_state(path)["fingerprint"], where=path, allowed=allowed)
        return path

    def resume(self) -> None:
        """Load the newest valid checkpoint, if there is one; a CheckpointError if it is of another run."""
        if path := self.validate():
            self._load(path)
            logger.info("resuming from %s", path)

    def roll_back(self, request: Rollback) -> None:
        """Load the newest valid checkpoint up to `request.until`; the batches since then are not drawn again."""
        self.finish()
        path = self._newest_valid(until=request.until)
        if path is None:
            raise request.error
        before = self._run.progress
        self._load(path)
        self._run.progress = before.rolled_back_to(self._run.progress)
        if self._run.world.rank == 0:
            skipped, batches = before.consecutive_skipped_steps, before.step - self._run.progress.step
            logger.warning(
                "rollback: %d steps in a row were skipped; from step %d back to %s, past %d batches",
                skipped,
                before.step,
                path,
                batches,
            )

    def save(self) -> None:
        """Copy the state and begin to write it."""
        self.finish()
        run = self._run
        if run.world.rank > 0 and not is_sharded(run.model):
            return
        tensors = model_tensors(run.model), optimizer_tensors(run.model, self._optimizer)
        if run.world.rank == 0:
            states = {callback.name: callback.state_dict() for callback in self._callbacks if has_state(callback)}
            plain = {
                "progress": asdict(run.progress),
                "evaluation_due": run.evaluation_due,
                "scaler": self._scaler.state_dict(),
                "callbacks": states,
                "fingerprint": self._fingerprint.values,
            }
            self._checkpointer.start(Checkpoint(run.progress.step, plain, *tensors))

    def finish(self) -> None:
        """Wait for the checkpoint that is being written, if there is one; its failure is raised on every rank."""
        if saved := self._run.world.on_rank_zero(self._checkpointer.finish):
            step, path = saved
            for callback in self._callbacks:
                callback.on_checkpoint(self._run, path=path, step=step)

    def _newest_valid(self, *, until: int | None = None) -> Path | None:
        checkpoints = self._checkpointer.checkpoints
        return self._run.world.on_rank_zero(lambda: checkpoints.newest_valid(until=until))

    def _load(self, path: Path) -> None:
        """Load everything that `save` saved."""
        state = read_state(path)
        model, optimizer = read_tensors(path)
        restore_model(self._run.model, model)
        if self._fingerprint.has_other_optimizer(state["fingerprint"]):
            if self._run.world.rank == 0:
                logger.warning("%s: is of another optimizer; this one begins without its moments", path)
            optimizer = {}
        restore_optimizer(self._run.model, self._optimizer, optimizer)
        self._run.progress, self._run.evaluation_due = TrainingProgress(**state["progress"]), state["evaluation_due"]
        for callback in self._callbacks:
            if callback.name in state["callbacks"]:
                callback.load_state_dict(state["callbacks"][callback.name])
        if state["scaler"]:
            self._scaler.load_state_dict(state["scaler"])


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers, each once, as full tensors on the CPU; every rank must call."""
    return {name: gather_full(tensor) for name, tensor in _stored(model).items()}


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`<parameter>/<key>` for every tensor of the optimizer state, as full tensors on the CPU; every rank must call."""
    return {
        f"{name}/{key}": gather_full(tensor)
        for name, parameter in model.named_parameters()
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }


@torch.no_grad()
def restore_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load what `model_tensors` returned."""
    stored = _stored(model)
    if missing := stored.keys() ^ tensors.keys():
        raise CheckpointError(
            f"checkpoint: {len(missing)} tensors are in the model or the checkpoint but not in both, such as "
            f"{min(missing)!r}; resume with the model that the run began with"
        )
    for name, target in stored.items():
        target.copy_(shard_like(tensors[name], target))


def restore_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load what `optimizer_tensors` returned."""
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for path, value in tensors.items():
        name, _, key = path.rpartition("/")
        optimizer.state[parameters[name]][key] = shard_like(value, parameters[name])


def _stored(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers; a tensor shared under two names only under the first."""
    persistent = model.state_dict(keep_vars=True).keys()
    return {name: tensor for name, tensor in [*model.named_parameters(), *model.named_buffers()] if name in persistent}
