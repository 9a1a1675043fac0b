"""How long things are. Before: arrays of lengths. After: statistics."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, eq=False)
class LengthHistogram:
    """How many things there are of each length that occurs; memory grows with the different lengths only."""

    values: np.ndarray
    """Int64 [N]: the lengths, ascending."""
    counts: np.ndarray
    """Int64 [N]: things of that length."""

    @classmethod
    def of(cls, parts: Iterable[np.ndarray]) -> Self:
        """Of lengths that come in parts."""
        merged = cls(np.zeros(0, np.int64), np.zeros(0, np.int64))
        for part in parts:
            merged = merged._with(*np.unique(part.astype(np.int64), return_counts=True))
        return merged

    @property
    def total(self) -> int:
        """Number of things."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean length; 0 of nothing."""
        return float(self.values @ self.counts) / max(1, self.total)

    def quantile(self, share: float) -> int:
        """The length that `share` of the things do not exceed; 0 of nothing."""
        if not self.total:
            return 0
        return int(self.values[np.searchsorted(np.cumsum(self.counts), share * self.total)])

    def to_dict(self) -> dict[str, Any]:
        """Number, mean, extremes and quantiles."""
        quantiles = {f"{share:.0%}": self.quantile(share) for share in QUANTILES}
        return {"count": self.total, "mean": self.mean, "shortest": self.quantile(0), **quantiles} | {
            "longest": self.quantile(1)
        }

    def to_text(self) -> str:
        """The same, shorter, for a person."""
        usual = f"{self.quantile(0.05):,} to {self.quantile(0.95):,}"
        return (
            f"{self.mean:,.1f} on average, median {self.quantile(0.5):,}, nine in ten {usual}, "
            f"longest {self.quantile(1):,}"
        )

    def _with(self, values: np.ndarray, counts: np.ndarray) -> Self:
        merged, places = np.unique(np.concatenate((self.values, values)), return_inverse=True)
        sums = np.bincount(places, weights=np.concatenate((self.counts, counts)), minlength=len(merged))
        return type(self)(merged, sums.astype(np.int64))
