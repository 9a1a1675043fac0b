"""Calibration of a classifier: one temperature for all classes, from the development rows.

The logits are divided by it, which changes no predicted class: of the predictions with a probability of 0.8, about
80 % are then right. Source: temperature scaling, Guo et al. 2017, arXiv 1706.04599.
"""

from typing import Final

import numpy as np
from jaxtyping import Float, Int

from litebert.tasks.results import softmax

HIGHEST: Final = 100.0
"""Temperature of a model that knows nothing."""
LOWEST: Final = 0.1
_BISECTIONS: Final = 50


def fitted_temperature(probabilities: Float[np.ndarray, "N C"], targets: Int[np.ndarray, " N"]) -> float:
    """The temperature with the lowest cross-entropy, from `LOWEST` to `HIGHEST`; 1 if every prediction is right."""
    log_probabilities = _logarithms(probabilities)
    if (log_probabilities.argmax(-1) == targets).all():
        return 1.0  # no finite temperature is the best one
    of_target = log_probabilities[np.arange(len(targets)), targets].mean()
    low, high = 1 / HIGHEST, 1 / LOWEST  # the cross-entropy is convex in the inverse
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        weights = softmax(middle * log_probabilities)
        slope = (weights * log_probabilities).sum(-1).mean() - of_target
        low, high = (low, middle) if slope > 0 else (middle, high)
    return float(2 / (low + high))


def calibrated(probabilities: Float[np.ndarray, "N C"], temperature: float) -> Float[np.ndarray, "N C"]:
    """The probabilities of logits that are divided by the temperature, in the dtype of `probabilities`."""
    return softmax(_logarithms(probabilities) / temperature).astype(probabilities.dtype)


def _logarithms(probabilities: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    """In float64; that of 0 is finite."""
    return np.log(np.maximum(probabilities.astype(np.float64), np.finfo(np.float32).tiny))
