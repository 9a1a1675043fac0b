"""How much each label counts in the loss. Before: a setting and the training rows. After: `objectives`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.tables import did_you_mean

ClassWeights = str | dict[str, float] | None


def checked_class_weights(value: Any) -> ClassWeights:
    """The setting as given, with names as text; ValueError for what is none."""
    if value is None or value == "balanced":
        return value
    numbers = isinstance(value, Mapping) and all(
        isinstance(weight, int | float) and 0 < weight < float("inf") for weight in value.values()
    )
    if not numbers or not value:
        raise ValueError("expected `balanced`, or a positive number for each label that is to count otherwise than 1")
    return {str(label): float(weight) for label, weight in value.items()}


def class_weights(setting: ClassWeights, train: LabelledData) -> np.ndarray | None:
    """Float64, one a label: of a classification factors of the loss whose mean over the training rows is 1, of several
    labels how many absent ones a present one counts for. None where all count alike.

    Raises ConfigError for another kind, a label that there is not, or one that cannot be balanced.
    """
    if setting is None:
        return None
    if train.kind not in ("classification", "multi_label"):
        raise ConfigError(f"class_weights: {train.kind.replace('_', ' ')} has no labels to weigh; leave it null")
    assert train.labels is not None
    rows = len(train.examples)
    if train.kind == "classification":
        counts = np.bincount([each.target for each in train.examples], minlength=len(train.labels))
        weights = 1 / np.maximum(counts, 1) if isinstance(setting, str) else _given(setting, train.labels)
        return weights * rows / (counts * weights).sum()
    counts = np.sum([each.target for each in train.examples], axis=0)
    return _absent_per_present(counts, train) if isinstance(setting, str) else _given(setting, train.labels)


def _given(weights: Mapping[str, float], labels: tuple[str, ...]) -> np.ndarray:
    for name in weights:
        if name not in labels:
            raise ConfigError(
                f"class_weights: there is no label {name!r}{did_you_mean(name, labels)}; labels are {', '.join(labels)}"
            )
    return np.array([weights.get(label, 1.0) for label in labels])


def _absent_per_present(counts: np.ndarray, train: LabelledData) -> np.ndarray:
    rows = len(train.examples)
    for label, count in zip(train.labels or (), counts, strict=True):
        if count in (0, rows):
            raise ConfigError(
                f"class_weights: {'no' if count == 0 else 'every'} training row has the label {label!r}, which cannot "
                "be balanced; give the weights by label"
            )
    return (rows - counts) / counts
