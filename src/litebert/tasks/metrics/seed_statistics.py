"""Statistics of the scores of one recipe over several seeds.

One run of fine-tuning says little: of 100 seeds of one recipe on MRPC some end at the majority class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from litebert.randomness import rng_for

RESAMPLES: Final = 10_000


@dataclass(frozen=True, slots=True)
class SeedStatistics:
    """One metric over the seeds."""

    scores: tuple[float, ...]
    """Of each trial, in the order of the seeds."""
    trials: int
    median: float
    """What the paper reports, of 5 trials."""
    mean: float
    std: float | None
    """Of the sample (n - 1); None for one trial."""
    best: float
    median_interval: tuple[float, float] | None
    """95 % bootstrap interval of the median; None for one trial. Of few trials it is about their range."""

    def to_text(self) -> str:
        """The figures for a person."""
        if self.std is None or self.median_interval is None:
            return f"{self.median:.4f} (one trial)"
        low, high = self.median_interval
        return (
            f"median {self.median:.4f} (95 % interval {low:.4f} to {high:.4f}), "
            f"mean {self.mean:.4f} ± {self.std:.4f}, best {self.best:.4f} of {self.trials} trials"
        )


def statistics_of(scores: Sequence[float]) -> SeedStatistics:
    """Statistics of one score or more; their order matters to `scores` alone."""
    values = np.sort(np.asarray(scores, dtype=np.float64))
    several = len(values) > 1
    return SeedStatistics(
        scores=tuple(scores),
        trials=len(values),
        median=float(np.median(values)),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if several else None,
        best=float(values[-1]),
        median_interval=_interval(values) if several else None,
    )


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Percentiles of the medians of resamples. Source: Efron (1979)."""
    drawn = rng_for("interval of a median", len(values)).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[drawn], axis=1), (0.025, 0.975))
    return float(low), float(high)
