"""How right the predictions are: the metrics of GLUE, an interval for accuracies, a confusion matrix.

Before: predictions and labels as arrays. After: runs.
scikit-learn and scipy (extra `eval`) define every metric but accuracy.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np

from litebert.errors import ConfigError, MissingExtraError
from litebert.tasks.task import Kind

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Metric:
    """(predictions [N], labels [N]) → a number of which more is better."""

    measure: Callable[[Array, Array], float]
    kind: Kind
    needs: str | None
    """Package of the extra `eval` that defines it."""


def accuracy(predictions: Array, labels: Array) -> float:
    """Share of right answers."""
    return float(np.mean(predictions == labels))


def f1(predictions: Array, labels: Array) -> float:
    """F1 of the label with index 1, for two labels; 0 when it is never right. Source: GLUE's MRPC and QQP."""
    return float(_sklearn().f1_score(labels, predictions, pos_label=1, average="binary", zero_division=0.0))


def macro_f1(predictions: Array, labels: Array) -> float:
    """Unweighted mean of the F1 of every label that occurs."""
    return float(_sklearn().f1_score(labels, predictions, average="macro", zero_division=0.0))


def matthews(predictions: Array, labels: Array) -> float:
    """Matthews correlation; 0 when only one label is predicted. Source: GLUE's CoLA."""
    return float(_sklearn().matthews_corrcoef(labels, predictions))


def pearson(predictions: Array, labels: Array) -> float:
    """Linear correlation; 0 when a side is constant, since it then explains nothing. Source: GLUE's STS-B."""
    return _correlation("pearsonr", predictions, labels)


def spearman(predictions: Array, labels: Array) -> float:
    """Rank correlation; 0 when a side is constant. Source: GLUE's STS-B."""
    return _correlation("spearmanr", predictions, labels)


METRICS = {
    "accuracy": Metric(accuracy, "classification", None),
    "f1": Metric(f1, "classification", "sklearn"),
    "macro_f1": Metric(macro_f1, "classification", "sklearn"),
    "matthews": Metric(matthews, "classification", "sklearn"),
    "pearson": Metric(pearson, "regression", "scipy"),
    "spearman": Metric(spearman, "regression", "scipy"),
}
DEFAULTS: dict[Kind, tuple[str, ...]] = {"classification": ("accuracy",), "regression": ("pearson", "spearman")}
"""Metrics of a task that names none; the first chooses the best model."""


def check_metrics(names: Iterable[str], *, kind: Kind, num_labels: int) -> None:
    """Raise unless every metric exists, fits the task and can be computed here; called before anything slow."""
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"metrics: unknown metric {name!r}; known are {', '.join(METRICS)}")
        if METRICS[name].kind != kind:
            fitting = ", ".join(known for known, metric in METRICS.items() if metric.kind == kind)
            raise ConfigError(f"metrics: {name!r} does not measure a {kind}; {fitting} do")
        if name == "f1" and num_labels != 2:
            raise ConfigError(f"metrics: 'f1' is for two labels, this task has {num_labels}; use 'macro_f1'")
        _import_needed(METRICS[name].needs)


def measure(names: Iterable[str], predictions: Array, labels: Array) -> dict[str, float]:
    """Each named metric of `predictions` [N] (label indices or scores) against `labels` [N]."""
    return {name: METRICS[name].measure(predictions, labels) for name in names}


def wilson_interval(right: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of the true accuracy at this confidence, given `right` of `total` > 0 answers. Source: Wilson (1927)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = right / total, z * z / total
    center = (share + spread / 2) / (1 + spread)
    half = z * (share * (1 - share) / total + spread / (4 * total)) ** 0.5 / (1 + spread)
    return max(0.0, center - half), min(1.0, center + half)


def confusion_matrix(predictions: Array, labels: Array, *, num_labels: int) -> list[list[int]]:
    """Counts by [true label][predicted label]."""
    cells = np.bincount(labels * num_labels + predictions, minlength=num_labels * num_labels)
    return cells.reshape(num_labels, num_labels).tolist()


def _correlation(function: str, predictions: Array, labels: Array) -> float:
    if np.ptp(predictions) == 0 or np.ptp(labels) == 0:
        return 0.0
    stats = _import_needed("scipy.stats")
    return float(getattr(stats, function)(predictions, labels).statistic)


def _sklearn() -> Any:
    return _import_needed("sklearn.metrics")


def _import_needed(module: str | None) -> Any:
    try:
        return module and import_module(module)
    except ImportError:
        package = {"sklearn": "scikit-learn", "scipy": "scipy"}[str(module).partition(".")[0]]
        raise MissingExtraError(package, extra="eval", needed_for="this metric") from None
