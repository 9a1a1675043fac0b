"""Whether a classifier is as sure as it should be. Before: probabilities and labels. After: `evaluation`.

Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

NUM_BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers that were about equally sure."""

    low: float
    high: float
    examples: int
    confidence: float
    """Mean probability of the answers given."""
    accuracy: float
    """Share of them that was right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How confidence and accuracy differ."""

    expected_error: float
    """Mean distance of confidence and accuracy over the bins, weighted by their examples."""
    bins: tuple[Bin, ...]
    """Those that hold examples, from unsure to sure."""


def calibration(probabilities: np.ndarray, labels: np.ndarray, *, num_bins: int = NUM_BINS) -> Calibration:
    """The calibration of `probabilities` [N, C] for label indices [N], in bins of equal width."""
    confidence = probabilities.max(-1).astype(np.float64)
    right = probabilities.argmax(-1) == labels
    # (low, high]: a confidence of exactly 1 belongs to the last bin
    place = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    bins = []
    for index in np.unique(place):
        inside = place == index
        mean = float(confidence[inside].mean())
        low, high = float(index) / num_bins, float(index + 1) / num_bins
        bins.append(Bin(low, high, int(inside.sum()), mean, float(right[inside].mean())))
    gap = sum(one.examples * abs(one.confidence - one.accuracy) for one in bins) / max(len(labels), 1)
    return Calibration(gap, tuple(bins))
