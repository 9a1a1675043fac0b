"""The mean of several models' predictions.

"We average the model predictions" (ALBERT, section 4.9, of GLUE and RACE): the mean of their probabilities, or of
their scores in a regression. Predictions belong to examples, not tokens, so members may have different tokenizers.
"""

from collections.abc import Sequence

import numpy as np


def mean(members: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the members, for one example.

    The order of the members does not change a bit of it, and the mean of equal predictions is that prediction.
    """
    ordered = np.sort(np.stack(members), axis=0)
    return ordered[0] + (ordered - ordered[0]).mean(axis=0)


def reorder_labels(prediction: np.ndarray, labels: Sequence[str], own: Sequence[str]) -> np.ndarray:
    """The prediction of a model with the labels `own`, its last axis in the order of `labels`."""
    if tuple(labels) == tuple(own):
        return prediction
    return prediction[..., [list(own).index(label) for label in labels]]
