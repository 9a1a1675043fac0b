"""The metrics of GLUE and of the other task types, accuracy intervals, confusion matrices and calibration.

scikit-learn and scipy (extra `eval`) compute every metric except accuracies and those of entities and answers.
Source of the calibration: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from litebert.errors import ConfigError, did_you_mean, import_extra
from litebert.tasks.metrics.entities import entity_scores
from litebert.tasks.metrics.squad_metrics import answer_exact_match, answer_f1

Array = np.ndarray
GivenMetric = str | Callable[[Any, Any], float]
"""The name of a metric, or a function for `register_metric`."""

_OWN_METRICS: set[str] = set()
"""Names from `register_metric`; they apply to every task type."""
OF_SECOND_LABEL: Final = ("f1", "precision", "recall")
"""Metrics of two labels that depend on their order."""
NUM_BINS: Final = 10
_Z: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Metric:
    """A score of which more is better."""

    measure: Callable[[Any, Any], float]
    """(predictions [N], labels [N]) → score; for multi-label tasks both are zeros and ones [N, C]."""
    takes_probabilities: bool = False
    """Whether its predictions are probabilities, [N, C], instead."""
    requires: str | None = None
    """Package of the extra `eval` that computes it."""
    in_percent: bool = False
    """Whether 100 is the best score, as in the official script of SQuAD; otherwise it is 1."""
    in_unit_of_labels: bool = False
    """Whether it is an error in the unit of the labels, which is no share of a best score."""

    def to_percent(self, value: float) -> float:
        """A score in percent; an error in the unit of the labels stays as it is."""
        return value if self.in_percent or self.in_unit_of_labels else 100 * value


def accuracy(predictions: Array, labels: Array) -> float:
    """Share of correct predictions."""
    return float(np.mean(predictions == labels))


def _averaged(score: str, average: str, *, if_undefined: float = 0.0) -> Metric:
    """`f1_score`, `precision_score` or `recall_score` of scikit-learn.

    `binary`: of the label with index 1, for two labels; 0 when it is never correct. Source: GLUE's MRPC and QQP.
    `macro`: unweighted mean over every label that occurs; for multi-label tasks, over every label.
    `weighted`: mean over every label, weighted by how often the label occurs.
    `micro`: over all decisions of a multi-label task.
    `samples`: mean over the examples of the score of their labels.
    """

    def measure(predictions: Array, labels: Array) -> float:
        function = getattr(_imported("sklearn.metrics"), score)
        return float(function(labels, predictions, average=average, zero_division=if_undefined))

    return Metric(measure, requires="sklearn")


def balanced_accuracy(predictions: Array, labels: Array) -> float:
    """Mean over the labels that occur of the share of their examples that are predicted correctly."""
    return float(np.mean([np.mean(predictions[labels == label] == label) for label in np.unique(labels)]))


def roc_auc(probabilities: Array, labels: Array) -> float:
    """Area under the ROC curve: of the second of two labels, otherwise the mean of each label against the others.

    `labels` are [N] classes, or zeros and ones [N, C]. Labels of no example, or of all, are left out; 0.5 if none is
    left.
    """
    classes = range(probabilities.shape[1])
    present = labels.T > 0 if labels.ndim == 2 else np.array([labels == index for index in classes])
    used = [index for index in classes if 0 < present[index].sum() < len(labels)]
    if labels.ndim == 1 and len(classes) == 2:
        used = used[-1:]  # both labels have the same area
    areas = [_imported("sklearn.metrics").roc_auc_score(present[index], probabilities[:, index]) for index in used]
    return float(np.mean(areas)) if areas else 0.5


def subset_accuracy(predictions: Array, labels: Array) -> float:
    """Share of examples with every label correct."""
    return float(np.mean((predictions == labels).all(-1)))


def matthews(predictions: Array, labels: Array) -> float:
    """Matthews correlation; 0 when only one label is predicted. Source: GLUE's CoLA."""
    if (labels == labels[0]).all():
        return 0.0  # as sklearn, which warns if the predictions are constant too
    return float(_imported("sklearn.metrics").matthews_corrcoef(labels, predictions))


def _correlation(function: str) -> Metric:
    """A correlation of scipy; 0 when one side is constant. Source: GLUE's STS-B."""

    def measure(predictions: Array, labels: Array) -> float:
        if np.ptp(predictions) == 0 or np.ptp(labels) == 0:
            return 0.0
        return float(getattr(_imported("scipy.stats"), function)(predictions, labels).statistic)

    return Metric(measure, requires="scipy")


def r2(predictions: Array, labels: Array) -> float:
    """Coefficient of determination: 1 less the squared error divided by that of the mean of the labels.

    Below 0 for scores with an offset or another scale, which the correlations do not see; 0 if all labels are equal.
    """
    if np.ptp(labels) == 0:
        return 0.0
    return float(_imported("sklearn.metrics").r2_score(labels, predictions))


def neg_mean_absolute_error(predictions: Array, labels: Array) -> float:
    """Minus the mean absolute error, as scikit-learn's scorer of this name: more is better."""
    return -float(np.mean(np.abs(predictions - labels)))


def word_accuracy(predictions: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]) -> float:
    """Share of words with the correct label."""
    words = [a == b for one, other in zip(predictions, labels, strict=True) for a, b in zip(one, other, strict=True)]
    return float(np.mean(words))


def _entity(name: str) -> Metric:
    return Metric(lambda predictions, labels: entity_scores(predictions, labels)[name])


METRICS = {
    "accuracy": Metric(accuracy),
    "f1": _averaged("f1_score", "binary"),
    "precision": _averaged("precision_score", "binary"),
    "recall": _averaged("recall_score", "binary"),
    "macro_f1": _averaged("f1_score", "macro"),
    "macro_precision": _averaged("precision_score", "macro"),
    "macro_recall": _averaged("recall_score", "macro"),
    "weighted_f1": _averaged("f1_score", "weighted"),
    "balanced_accuracy": Metric(balanced_accuracy),
    "roc_auc": Metric(roc_auc, takes_probabilities=True, requires="sklearn"),
    "matthews": Metric(matthews, requires="sklearn"),
    "micro_f1": _averaged("f1_score", "micro"),
    "sample_f1": _averaged(
        "f1_score", "samples", if_undefined=1.0
    ),  # 1 where an example has no label and none is predicted
    "subset_accuracy": Metric(subset_accuracy),
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
    "r2": Metric(r2, requires="sklearn"),
    "neg_mean_absolute_error": Metric(neg_mean_absolute_error, in_unit_of_labels=True),
    "entity_f1": _entity("entity_f1"),
    "entity_precision": _entity("entity_precision"),
    "entity_recall": _entity("entity_recall"),
    "word_accuracy": Metric(word_accuracy),
    "answer_f1": Metric(answer_f1, in_percent=True),
    "exact_match": Metric(answer_exact_match, in_percent=True),
}
"""Every metric by its name; `TaskType.all_metrics` are those of a task type."""
_NAMES_ELSEWHERE: Final = {
    "mcc": "matthews",
    "matthews_corrcoef": "matthews",
    "pearsonr": "pearson",
    "spearmanr": "spearman",
    **dict.fromkeys(("mae", "mean_absolute_error", "mse", "rmse", "mean_squared_error"), "neg_mean_absolute_error"),
    **{f"neg_{name}": "neg_mean_absolute_error" for name in ("mean_squared_error", "root_mean_squared_error")},
    **{f"{name}_score": name for name in ("accuracy", "f1", "precision", "recall", "balanced_accuracy", "r2")},
    **dict.fromkeys(("auc", "auroc", "roc_auc_score", "roc_auc_ovr", "roc_auc_ovo"), "roc_auc"),
    "exact_match_score": "exact_match",
}
"""Names of scikit-learn and scipy → the metric here; those such as `f1_macro` follow a rule."""


def register_metric(measure: Callable[[Any, Any], float]) -> str:
    """Add a metric of your own, of which more is better; returns its name, that of the function.

    It is measured on all examples, not on slices and ranges of lengths, which may have a single one.
    `measure` takes (predictions [N], labels [N]) as the metrics of the task type do: indices of labels for
    classification, scores for regression. ConfigError for the name of another metric, and without a name.
    """
    name = getattr(measure, "__name__", "<no name>")
    if not name.isidentifier():
        raise ConfigError(f"metrics: {measure!r} has no name of its own; define a function with `def`")
    if name in METRICS and METRICS[name].measure is not measure and name not in _OWN_METRICS:
        raise ConfigError(f"metrics: {name!r} is the name of a metric of litebert; rename the function")
    METRICS[name] = Metric(measure)
    _OWN_METRICS.add(name)
    return name


def listed_metrics(metrics: GivenMetric | Iterable[GivenMetric]) -> list[GivenMetric]:
    """Some metrics, or one, as a list."""
    return [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)


def metric_names(metrics: GivenMetric | Iterable[GivenMetric]) -> list[str]:
    """The names of some metrics, or of one; functions are registered by `register_metric`."""
    return [each if isinstance(each, str) else register_metric(each) for each in listed_metrics(metrics)]


def metrics_of_parts(names: Iterable[str]) -> list[str]:
    """The metrics that any part of the examples has; one from `register_metric` may need several examples or labels."""
    return [name for name in names if name not in _OWN_METRICS]


def check_metrics(names: Iterable[str], *, applicable: Sequence[str], num_labels: int) -> None:
    """Raise ConfigError unless every metric exists, is applicable and its package is installed."""
    for name in names:
        if name not in METRICS:
            raise ConfigError(
                f"metrics: unknown metric {name!r}{_meant(name)}; expected one of {', '.join(applicable)}"
            )
        if name not in (*applicable, *_OWN_METRICS):
            raise ConfigError(f"metrics: {name!r} does not apply to this task type; use {', '.join(applicable)}")
        if name in OF_SECOND_LABEL and num_labels != 2:
            raise ConfigError(f"metrics: {name!r} is for two labels, this task has {num_labels}; use 'macro_{name}'")
        if package := METRICS[name].requires:
            _imported(package)


def _meant(name: str) -> str:
    """The metric here that scikit-learn or scipy calls `name`, as a question; else one that is spelt alike."""
    score, _, average = name.partition("_")
    here = _NAMES_ELSEWHERE.get(name, f"{average.removesuffix('s')}_{score}")
    return f" (did you mean {here!r}?)" if here in METRICS else did_you_mean(name, METRICS)


def measure(names: Iterable[str], predictions: Any, labels: Any, probabilities: Any = None) -> dict[str, float]:
    """Each named metric of `predictions`, or of `probabilities`, against `labels`, all as `Metric` says."""
    found = {name: METRICS[name] for name in names}
    return {
        name: _number(name, metric.measure(probabilities if metric.takes_probabilities else predictions, labels))
        for name, metric in found.items()
    }


def _number(name: str, value: Any) -> float:
    """A score as a number of Python, which files can hold: a metric of the user may return one of numpy."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"metrics: {name} returned a {type(value).__name__}, expected a number") from None


def wilson_interval(correct: float, total: float) -> tuple[float, float]:
    """95 % bounds of the true accuracy, given `correct` of `total` > 0 predictions. Source: Wilson (1927).

    `correct` is not whole where a tie counts half, for which the bounds are wider than need be; `total` is not whole
    where it is an effective number of predictions.
    """
    share, spread = correct / total, _Z * _Z / total
    center = (share + spread / 2) / (1 + spread)
    half = _Z * (share * (1 - share) / total + spread / (4 * total)) ** 0.5 / (1 + spread)
    return max(0.0, center - half), min(1.0, center + half)


def wilson_interval_of_mean(accuracies: Sequence[float], totals: Sequence[int]) -> tuple[float, float]:
    """95 % bounds of the mean of true accuracies, each measured on predictions of its own, `totals` > 0 of them.

    Wilson's interval for the effective number of predictions: as many as give one accuracy the variance of this mean
    (Kish 1965; for intervals, Franco et al. 2019). For the variance each accuracy is drawn towards the mean by as many
    predictions as Wilson's interval draws it to a half, because a few predictions that are all right look certain.
    """
    shares, counts = np.array(accuracies), np.array(totals)
    mean = float(shares.mean())
    drawn = (shares * counts + _Z * _Z * mean) / (counts + _Z * _Z)
    if mean in (0.0, 1.0):  # the limit as the mean goes there
        effective = len(counts) ** 2 / (1 / counts).sum()
    else:
        effective = mean * (1 - mean) * len(counts) ** 2 / (drawn * (1 - drawn) / counts).sum()
    return wilson_interval(mean * float(effective), float(effective))


def confusion_matrix(predictions: Array, labels: Array, *, num_labels: int) -> list[list[int]]:
    """Counts by [true label][predicted label]."""
    cells = np.bincount(labels * num_labels + predictions, minlength=num_labels * num_labels)
    return cells.reshape(num_labels, num_labels).tolist()


def _imported(module: str) -> Any:
    """A module of scikit-learn or scipy."""
    package = "scikit-learn" if module.startswith("sklearn") else None
    return import_extra(module, extra="eval", needed_for="this metric", package=package)


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of similar probability."""

    low: float
    high: float
    examples: int
    confidence: float
    """Mean probability of the predictions."""
    accuracy: float
    """Share of correct predictions."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How confidence and accuracy differ."""

    expected_error: float
    """Mean distance of confidence and accuracy over the bins, weighted by their examples."""
    bins: tuple[Bin, ...]
    """Those with examples, by increasing probability."""


def calibration(probabilities: np.ndarray, labels: np.ndarray) -> Calibration:
    """The calibration of `probabilities` [N, C] for label indices [N], in bins of equal width."""
    confidence = probabilities.max(-1).astype(np.float64)
    correct = probabilities.argmax(-1) == labels
    # (low, high]: a confidence of exactly 1 belongs to the last bin
    bin_of = np.clip(np.ceil(confidence * NUM_BINS).astype(int) - 1, 0, NUM_BINS - 1)
    bins = []
    for index in np.unique(bin_of):
        inside = bin_of == index
        mean = float(confidence[inside].mean())
        low, high = float(index) / NUM_BINS, float(index + 1) / NUM_BINS
        bins.append(Bin(low, high, int(inside.sum()), mean, float(correct[inside].mean())))
    gap = sum(one.examples * abs(one.confidence - one.accuracy) for one in bins) / max(len(labels), 1)
    return Calibration(gap, tuple(bins))


def take(values: Any, rows: np.ndarray) -> Any:
    """The values at some positions, of an array or a sequence."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
