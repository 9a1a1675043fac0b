"""Calibration of a classifier: do its probabilities match its accuracy?

Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

NUM_BINS: Final = 10


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


def calibration(probabilities: np.ndarray, labels: np.ndarray, *, num_bins: int = NUM_BINS) -> Calibration:
    """The calibration of `probabilities` [N, C] for label indices [N], in bins of equal width."""
    confidence = probabilities.max(-1).astype(np.float64)
    correct = probabilities.argmax(-1) == labels
    # (low, high]: a confidence of exactly 1 belongs to the last bin
    bin_of = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    bins = []
    for index in np.unique(bin_of):
        inside = bin_of == index
        mean = float(confidence[inside].mean())
        low, high = float(index) / num_bins, float(index + 1) / num_bins
        bins.append(Bin(low, high, int(inside.sum()), mean, float(correct[inside].mean())))
    gap = sum(one.examples * abs(one.confidence - one.accuracy) for one in bins) / max(len(labels), 1)
    return Calibration(gap, tuple(bins))
