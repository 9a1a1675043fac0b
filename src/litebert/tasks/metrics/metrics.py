"""How right the predictions are: the metrics of GLUE, an interval for accuracies, a confusion matrix.

Before: predictions and labels as arrays. After: `evaluation`.
scikit-learn and scipy (extra `eval`) define every metric but accuracies and those of `entities`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np

from litebert.errors import ConfigError, MissingExtraError
from litebert.tasks.metrics.entities import entity_scores
from litebert.tasks.metrics.squad_metrics import answer_exact_match, answer_f1
from litebert.tasks.task_type import Kind

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Metric:
    """(predictions [N], labels [N]) → a number of which more is better; several labels are zeros and ones [N, C]."""

    measure: Callable[[Any, Any], float]
    kinds: tuple[Kind, ...]
    needs: str | None
    """Package of the extra `eval` that defines it."""


def accuracy(predictions: Array, labels: Array) -> float:
    """Share of right answers."""
    return float(np.mean(predictions == labels))


def f1(predictions: Array, labels: Array) -> float:
    """F1 of the label with index 1, for two labels; 0 when it is never right. Source: GLUE's MRPC and QQP."""
    return float(_sklearn().f1_score(labels, predictions, pos_label=1, average="binary", zero_division=0.0))


def macro_f1(predictions: Array, labels: Array) -> float:
    """Unweighted mean of the F1 of every label that occurs; of several labels, of every label."""
    return float(_sklearn().f1_score(labels, predictions, average="macro", zero_division=0.0))


def micro_f1(predictions: Array, labels: Array) -> float:
    """F1 over all decisions on several labels."""
    return float(_sklearn().f1_score(labels, predictions, average="micro", zero_division=0.0))


def sample_f1(predictions: Array, labels: Array) -> float:
    """Mean over the examples of the F1 of their sets of labels; 1 where rightly none is given."""
    return float(_sklearn().f1_score(labels, predictions, average="samples", zero_division=1.0))


def subset_accuracy(predictions: Array, labels: Array) -> float:
    """Share of examples of which every label is right."""
    return float(np.mean((predictions == labels).all(-1)))


def matthews(predictions: Array, labels: Array) -> float:
    """Matthews correlation; 0 when only one label is predicted. Source: GLUE's CoLA."""
    if (labels == labels[0]).all():
        return 0.0  # sklearn's answer too, which comes with a warning if the predictions agree
    return float(_sklearn().matthews_corrcoef(labels, predictions))


def pearson(predictions: Array, labels: Array) -> float:
    """Linear correlation; 0 when a side is constant, since it then explains nothing. Source: GLUE's STS-B."""
    return _correlation("pearsonr", predictions, labels)


def spearman(predictions: Array, labels: Array) -> float:
    """Rank correlation; 0 when a side is constant. Source: GLUE's STS-B."""
    return _correlation("spearmanr", predictions, labels)


def word_accuracy(predictions: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]) -> float:
    """Share of words with the right tag."""
    words = [a == b for one, other in zip(predictions, labels, strict=True) for a, b in zip(one, other, strict=True)]
    return float(np.mean(words))


def _entity(name: str) -> Callable[[Any, Any], float]:
    return lambda predictions, labels: entity_scores(predictions, labels)[name]


_CHOSEN: tuple[Kind, ...] = ("classification", "multiple_choice")
METRICS = {
    "accuracy": Metric(accuracy, _CHOSEN, None),
    "f1": Metric(f1, ("classification",), "sklearn"),
    "macro_f1": Metric(macro_f1, ("classification", "multi_label"), "sklearn"),
    "matthews": Metric(matthews, ("classification",), "sklearn"),
    "micro_f1": Metric(micro_f1, ("multi_label",), "sklearn"),
    "sample_f1": Metric(sample_f1, ("multi_label",), "sklearn"),
    "subset_accuracy": Metric(subset_accuracy, ("multi_label",), None),
    "pearson": Metric(pearson, ("regression",), "scipy"),
    "spearman": Metric(spearman, ("regression",), "scipy"),
    "entity_f1": Metric(_entity("entity_f1"), ("tokens",), None),
    "entity_precision": Metric(_entity("entity_precision"), ("tokens",), None),
    "entity_recall": Metric(_entity("entity_recall"), ("tokens",), None),
    "word_accuracy": Metric(word_accuracy, ("tokens",), None),
    "answer_f1": Metric(answer_f1, ("spans", "answerability"), None),
    "exact_match": Metric(answer_exact_match, ("spans", "answerability"), None),
}


def check_metrics(names: Iterable[str], *, kind: Kind, num_labels: int) -> None:
    """Raise unless every metric exists, fits the task and can be computed here; called before anything slow."""
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"metrics: unknown metric {name!r}; known are {', '.join(METRICS)}")
        if kind not in METRICS[name].kinds:
            fitting = ", ".join(known for known, metric in METRICS.items() if kind in metric.kinds)
            raise ConfigError(f"metrics: {name!r} does not measure {kind!r}; {fitting} do")
        if name == "f1" and num_labels != 2:
            raise ConfigError(f"metrics: 'f1' is for two labels, this task has {num_labels}; use 'macro_f1'")
        _import_needed(METRICS[name].needs)


def measure(names: Iterable[str], predictions: Any, labels: Any) -> dict[str, float]:
    """Each named metric of `predictions` against `labels`, both as `Metric` says."""
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
