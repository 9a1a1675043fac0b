"""The fingerprint of a run: everything that its weights depend on, which a resumed run may not change."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError
from litebert.settings import Leaf, changed_names, flatten
from litebert.training.protocols import BatchSource
from litebert.training.train_settings import TrainSettings


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Plain values under dotted names, stored in every checkpoint."""

    values: dict[str, Leaf]

    @classmethod
    def of(
        cls, model: nn.Module, batches: BatchSource, settings: TrainSettings, others: Mapping[str, Any]
    ) -> "Fingerprint":
        """The fingerprint of a run; `others` is what the trainer does not know, such as the corpus."""
        own = {
            "train": settings.numeric_settings(),
            "batches": batches.fingerprint,
            "batch_size": batches.batch_size,
            "parameters": parameters_digest(model),
        }
        return cls(flatten(own | dict(others)))

    def validate_unchanged(self, saved: Mapping[str, Leaf], *, where: Path, allowed: Collection[str]) -> None:
        """Raise a CheckpointError that names every field in which the run differs from its checkpoint."""
        refused = [name for name in changed_names(saved, self.values) if name not in allowed]
        if refused:
            changes = "; ".join(f"{name} was {saved.get(name)!r}, is {self.values.get(name)!r}" for name in refused)
            raise CheckpointError(
                f"{where}: the checkpoint is of another run: {changes}. Restore these, start in a new directory, "
                f"or name the fields in `allow_config_changes`"
            )


def parameters_digest(model: nn.Module) -> str:
    """A digest that changes with the name or shape of any parameter."""
    shapes = "\n".join(f"{name} {tuple(parameter.shape)}" for name, parameter in sorted(model.named_parameters()))
    return hashlib.sha256(shapes.encode()).hexdigest()[:16]
