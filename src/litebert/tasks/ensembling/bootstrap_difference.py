"""How much better one set of answers is than another to the same rows. Before: answers. After: `runs.ensemble`.

Paired: the rows are drawn with replacement, the same for both, so what both find hard cancels out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.randomness import rng_for
from litebert.tasks.metrics.metrics import METRICS

RESAMPLES: Final = 1000
_MEANS: Final = ("accuracy", "subset_accuracy", "sample_f1", "answer_f1", "exact_match")
"""Metrics that are means over the rows: each row is measured once, not anew in every resample."""


@dataclass(frozen=True, slots=True)
class BootstrapDifference:
    """A difference of one metric."""

    difference: float
    low: float
    """Bounds of its 95 % bootstrap interval."""
    high: float

    def to_text(self) -> str:
        """`+0.0115 (95 % interval -0.0023 to +0.0252)`."""
        return f"{self.difference:+.4f} (95 % interval {self.low:+.4f} to {self.high:+.4f})"


def paired_gains(metric: str, better: Any, others: Sequence[Any], targets: Any) -> list[BootstrapDifference]:
    """The gain of `better` over each of `others`: answers [N] to rows with `targets` [N], as the metric takes them."""
    measures = [_resampled(metric, answers, targets) for answers in (better, *others)]
    scores = [METRICS[metric].measure(answers, targets) for answers in (better, *others)]
    samples = np.array([[measure(rows) for measure in measures] for rows in _draws(len(targets))]).T
    gains = []
    for score, sample in zip(scores[1:], samples[1:], strict=True):
        low, high = np.quantile(samples[0] - sample, (0.025, 0.975))
        gains.append(BootstrapDifference(scores[0] - score, float(low), float(high)))
    return gains


def _draws(count: int) -> Iterator[np.ndarray]:
    """Rows of each resample."""
    for index in range(RESAMPLES):
        yield rng_for("paired gain", index).integers(count, size=count)


def _resampled(metric: str, answers: Any, targets: Any) -> Callable[[np.ndarray], float]:
    """The metric as a function of rows."""
    measure = METRICS[metric].measure
    if metric in _MEANS:
        values = np.array([measure(answers[row : row + 1], targets[row : row + 1]) for row in range(len(targets))])
        return lambda rows: float(values[rows].mean())
    return lambda rows: measure(_taken(answers, rows), _taken(targets, rows))


def _taken(values: Any, rows: np.ndarray) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
