"""Ratios of times, with 95 % bootstrap intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % interval, printed as `1.34 (1.30 to 1.38)`."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio_of(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    paired: bool,
    statistic: Callable[..., np.ndarray] = np.mean,
) -> Ratio:
    """`statistic` of the first over that of the second; `paired` if those at one index were measured in one turn."""
    over, under = np.array(numerators), np.array(denominators)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(over), size=(RESAMPLES, len(over)))
    others = rows if paired else rng.integers(len(under), size=(RESAMPLES, len(under)))
    resampled = statistic(over[rows], axis=1) / statistic(under[others], axis=1)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Ratio(float(statistic(over) / statistic(under)), float(low), float(high))
