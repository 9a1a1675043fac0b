"""Statistics of the scores of one recipe over several seeds.

One run of fine-tuning says little: of 100 seeds of one recipe on MRPC some end at the majority class.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

import numpy as np

from litebert.randomness import rng_for

RESAMPLES: Final = 10_000
MIN_FOR_INTERVAL: Final = 6
"""Fewest scores whose range holds the true median in 95 % of cases: all of n lie on one side of it in 2 of 2^n."""


@dataclass(frozen=True, slots=True)
class SeedStatistics:
    """One metric over the seeds."""

    scores: tuple[float | None, ...]
    """Of each trial, in the order of the seeds; None where it is missing or not a number."""
    trials: int
    """Number of scores that are numbers; all below is of these."""
    median: float
    """What the paper reports, of 5 trials."""
    mean: float
    std: float | None
    """Of the sample (n - 1); None for one trial."""
    best: float
    median_interval: tuple[float, float] | None
    """95 % bootstrap interval of the median; of fewer than 6 trials their range, which covers less; None for one."""

    @property
    def interval_name(self) -> str:
        """What `median_interval` is."""
        return "range" if self.trials < MIN_FOR_INTERVAL else "95 % interval"

    @property
    def missing_note(self) -> str:
        """As that of the function."""
        return missing_note(self.trials, len(self.scores))

    def to_text(self) -> str:
        """The figures for a person."""
        if self.std is None or self.median_interval is None:
            return f"{self.median:.4f} (one trial){self.missing_note}"
        low, high = self.median_interval
        return (
            f"median {self.median:.4f} ({self.interval_name} {low:.4f} to {high:.4f}), "
            f"mean {self.mean:.4f} ± {self.std:.4f}, best {self.best:.4f} of {self.trials} trials{self.missing_note}"
        )


def missing_note(counted: int, seeds: int) -> str:
    """` (2 of 3 seeds)` where only some seeds have a score, else nothing."""
    return f" ({counted} of {seeds} seeds)" if counted < seeds else ""


def statistics_by_metric(runs: Sequence[Mapping[str, float] | None]) -> dict[str, SeedStatistics]:
    """Metric → statistics over the runs, of which those without a result are None.

    Metrics for which no run has a number are left out.
    """
    names = dict.fromkeys(name for metrics in runs for name in metrics or ())
    by_metric = {name: [(metrics or {}).get(name) for metrics in runs] for name in names}
    return {name: statistics_of(scores) for name, scores in by_metric.items() if any(map(is_number, scores))}


def statistics_of(scores: Sequence[float | None]) -> SeedStatistics:
    """Statistics of the scores that are numbers, at least one; their order matters to `scores` alone."""
    values = np.sort([score for score in scores if is_number(score)])
    several = len(values) > 1
    return SeedStatistics(
        scores=tuple(score if is_number(score) else None for score in scores),
        trials=len(values),
        median=float(np.median(values)),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if several else None,
        best=float(values[-1]),
        median_interval=_interval(values) if several else None,
    )


def is_number(score: float | None) -> TypeGuard[float]:
    """Whether a score is there and not NaN, which is that of a run that diverged."""
    return score is not None and not math.isnan(score)


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Percentiles of the medians of resamples. Source: Efron (1979)."""
    drawn = rng_for("interval of a median", len(values)).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[drawn], axis=1), (0.025, 0.975))
    return float(low), float(high)
