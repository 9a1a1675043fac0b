"""What must not change between a run and its continuation. Before: settings, model. After: `trainer.py`."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError
from litebert.settings import Leaf, Settings, changed_names, flatten
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """All that the numbers of a run depend on."""

    values: dict[str, Leaf]
    """What a checkpoint keeps: plain values under dotted names."""
    settings: Mapping[str, Settings]
    """Those of them that know their defaults, by the name before their dots."""

    @classmethod
    def of(
        cls, model: nn.Module, batches: BatchSource, settings: TrainSettings, others: Mapping[str, Any]
    ) -> "Fingerprint":
        """The fingerprint of a run; `others` is what only the caller of the trainer knows of, such as the corpus."""
        own = {
            "train": settings.numbers(),
            "batches": batches.fingerprint,
            "batch_size": batches.batch_size,
            "parameters": parameters_digest(model),
        }
        known = {name: value for name, value in others.items() if isinstance(value, Settings)}
        return cls(flatten(own | dict(others)), {"train": settings, **known})

    def validate_unchanged(self, saved: Mapping[str, Leaf], *, where: Path, allowed: Collection[str]) -> None:
        """Raise a CheckpointError that names every field in which the run differs from its checkpoint.

        A setting that the checkpoint does not know yet must have its default.
        """
        before = self._as_kept_today(saved)
        refused = [name for name in changed_names(before, self.values) if name not in allowed]
        if refused:
            changes = "; ".join(f"{name} was {before.get(name)!r}, is {self.values.get(name)!r}" for name in refused)
            raise CheckpointError(
                f"{where}: saved by another run: {changes}. Restore these, start in a new directory, "
                f"or name the fields in `allow_config_changes`"
            )

    def _as_kept_today(self, saved: Mapping[str, Leaf]) -> dict[str, Leaf]:
        completed = dict(saved)
        for name, settings in self.settings.items():
            completed = settings.completed(completed, below=f"{name}.")
        return {name: value for name, value in completed.items() if name in saved or name in self.values}


def parameters_digest(model: nn.Module) -> str:
    """Changes with the name or shape of any parameter."""
    shapes = "\n".join(f"{name} {tuple(parameter.shape)}" for name, parameter in sorted(model.named_parameters()))
    return hashlib.sha256(shapes.encode()).hexdigest()[:16]
