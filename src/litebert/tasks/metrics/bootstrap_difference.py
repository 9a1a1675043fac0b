"""Paired bootstrap: how much better are some predictions than others, on the same examples?

The examples are drawn with replacement, the same for both, so that the difficulty of an example cancels out. Examples
that depend on each other, such as the questions about one passage, are drawn together.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.randomness import rng_for
from litebert.tasks.metrics.metrics import METRICS, take

RESAMPLES: Final = 1000
_MEANS: Final = ("accuracy", "subset_accuracy", "sample_f1", "answer_f1", "exact_match")
"""Metrics that are means over examples, which are computed once for each example."""


@dataclass(frozen=True, slots=True)
class BootstrapDifference:
    """The difference in one metric."""

    difference: float
    low: float
    """Lower bound of the 95 % bootstrap interval."""
    high: float
    """Upper bound."""

    def to_text(self) -> str:
        """`+0.0115 (95 % interval -0.0023 to +0.0252)`."""
        return f"{self.difference:+.4f} (95 % interval {self.low:+.4f} to {self.high:+.4f})"


def bootstrap_differences(
    metric: str, predictions: Any, others: Sequence[Any], targets: Any, *, groups: Sequence[Hashable] | None = None
) -> list[BootstrapDifference]:
    """The difference of `predictions` [N] to each of `others` [N], given `targets` [N], as the metric takes them.

    Examples with the same value in `groups` [N] are drawn together.
    """
    measures = [_resampled(metric, each, targets) for each in (predictions, *others)]
    scores = [METRICS[metric].measure(each, targets) for each in (predictions, *others)]
    draw = _drawing(groups, examples=len(targets))
    draws = (draw(rng_for("paired gain", index)) for index in range(RESAMPLES))
    samples = np.array([[measure(rows) for measure in measures] for rows in draws]).T
    differences = []
    for score, sample in zip(scores[1:], samples[1:], strict=True):
        low, high = np.quantile(samples[0] - sample, (0.025, 0.975))
        differences.append(BootstrapDifference(float(scores[0] - score), float(low), float(high)))
    return differences


def bootstrap_difference_of_means(
    metric: str,
    predictions: Sequence[Any],
    others: Sequence[Any],
    targets: Any,
    *,
    groups: Sequence[Hashable] | None = None,
) -> BootstrapDifference:
    """The mean over some runs minus that over `others`; each run has predictions [N] for the same N `targets`.

    The examples are drawn, and of a group with several runs these too, so that the interval covers their seeds; that
    of a single run is for its weights only. Where the seeds differ less than the examples alone would make them, the
    interval is too wide, because that noise counts twice; where they differ much and are few, it is too narrow.
    Examples with the same value in `groups` [N] are drawn together.
    """
    measures = [_resampled(metric, each, targets) for each in (*predictions, *others)]
    first, second = len(predictions), len(others)
    draw = _drawing(groups, examples=len(targets))
    samples = []
    for index in range(RESAMPLES):
        rng = rng_for("paired difference", index)
        rows = draw(rng)
        one, other = (rng.integers(size, size=size) for size in (first, second))
        scores = np.array([measure(rows) for measure in measures])
        samples.append(scores[one].mean() - scores[first + other].mean())
    scores = np.array([METRICS[metric].measure(each, targets) for each in (*predictions, *others)])
    low, high = np.quantile(samples, (0.025, 0.975))
    return BootstrapDifference(float(scores[:first].mean() - scores[first:].mean()), float(low), float(high))


def number_of_groups(groups: Sequence[Hashable]) -> int:
    """How many units are drawn: the examples themselves where all are in one group, which shows no differences."""
    distinct = len(set(groups))
    return distinct if distinct > 1 else len(groups)


def _drawing(groups: Sequence[Hashable] | None, *, examples: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Positions of examples, as often as their groups are drawn: as many draws with replacement as there are groups."""
    if groups is None or number_of_groups(groups) == examples:
        groups = range(examples)
    number = {group: index for index, group in enumerate(dict.fromkeys(groups))}
    group_of_example = np.array([number[group] for group in groups])

    def draw(rng: np.random.Generator) -> np.ndarray:
        times = np.bincount(rng.integers(len(number), size=len(number)), minlength=len(number))
        return np.repeat(np.arange(examples), times[group_of_example])

    return draw


def _resampled(metric: str, predictions: Any, targets: Any) -> Callable[[np.ndarray], float]:
    """The metric as a function of positions."""
    measure = METRICS[metric].measure
    if metric in _MEANS:
        values = np.array([measure(predictions[row : row + 1], targets[row : row + 1]) for row in range(len(targets))])
        return lambda rows: float(values[rows].mean())
    return lambda rows: measure(take(predictions, rows), take(targets, rows))
