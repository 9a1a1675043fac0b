"""What must not change between a run and its continuation. Before: settings, model. After: `trainer.py`."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from litebert.errors import CheckpointError
from litebert.training.protocols import BatchSource
from litebert.training.settings import TrainSettings

Fingerprint = dict[str, str | int | float | bool | None]


def fingerprint_of(
    model: nn.Module, batches: BatchSource, settings: TrainSettings, others: Mapping[str, Any]
) -> Fingerprint:
    """All that the numbers of a run depend on; `others` is what only its caller knows of, such as the corpus."""
    own = {
        "train": settings.numbers(),
        "batches": batches.fingerprint,
        "batch_size": batches.batch_size,
        "parameters": parameters_digest(model),
    }
    return flat(own | dict(others))


def flat(values: Mapping[str, Any]) -> Fingerprint:
    """Nested values under dotted names, each as JSON gives it back."""
    result: Fingerprint = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            result |= {f"{name}.{inner}": leaf for inner, leaf in flat(value).items()}
        elif isinstance(value, str | int | float | bool | None):
            result[name] = value
        else:
            result[name] = json.dumps(value, sort_keys=True, default=str)
    return result


def parameters_digest(model: nn.Module) -> str:
    """Changes with the name or shape of any parameter."""
    shapes = "\n".join(f"{name} {tuple(parameter.shape)}" for name, parameter in sorted(model.named_parameters()))
    return hashlib.sha256(shapes.encode()).hexdigest()[:16]


def refuse_changes(saved: Fingerprint, now: Fingerprint, *, where: Path, allowed: Collection[str]) -> None:
    """Raise a CheckpointError that names every field in which the run differs from its checkpoint."""
    names = sorted(name for name in saved.keys() | now.keys() if saved.get(name) != now.get(name))
    refused = [name for name in names if name not in allowed]
    if refused:
        changes = "; ".join(f"{name} was {saved.get(name)!r}, is {now.get(name)!r}" for name in refused)
        raise CheckpointError(
            f"{where}: saved by another run: {changes}. Restore these, start in a new directory, "
            f"or name the fields in `allow_changes`"
        )
