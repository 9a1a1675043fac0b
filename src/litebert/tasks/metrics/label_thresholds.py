"""A threshold for each label of a multi-label task, or for the second of two classes: the best one, as a logit.

Of a label it is the threshold with the best F1 on labelled rows, of two classes that with the best macro F1.

Thresholds are chosen once for each fold, on the rows of the other folds. Their means are those of the model, and each
row is scored with the thresholds of its fold, which it did not choose: scores on the rows that chose them are too high.
scikit-learn's TunedThresholdClassifierCV cross-validates too, but takes the mean of the scores over folds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from litebert.randomness import rng_for

FOLDS: Final = 5
FEWEST_ROWS: Final = 2
"""Rows that must have a label, and rows that must not: of one row, the threshold cannot be scored on another fold."""
DEFAULT: Final = 0.0
"""The logit of a probability of 0.5."""


@dataclass(frozen=True, slots=True)
class LabelThresholds:
    """Thresholds as logits: a label is predicted from there on."""

    chosen: Float[np.ndarray, " C"]
    """Of each label."""
    cross_fitted: Float[np.ndarray, "N C"]
    """Of each label and row, from the other folds."""


def label_thresholds(
    logits: Float[np.ndarray, "N C"], targets: Int[np.ndarray, "N C"], *, macro: bool = False
) -> LabelThresholds:
    """The thresholds for labels that are zeros and ones; `DEFAULT` for a label that almost no or almost all rows have.

    `macro` as in `best_threshold`.

    The fold of a row depends on its position and the number of rows only.
    """
    fold_of = rng_for("folds of label thresholds", len(logits)).permutation(len(logits)) % FOLDS
    by_fold = np.stack(
        [_thresholds_of_folds(*each, fold_of, macro=macro) for each in zip(logits.T, targets.T, strict=True)], axis=-1
    )
    return LabelThresholds(by_fold.mean(axis=0), by_fold[fold_of])


def _thresholds_of_folds(
    logits: Float[np.ndarray, " N"], targets: Int[np.ndarray, " N"], fold_of: Int[np.ndarray, " N"], *, macro: bool
) -> Float[np.ndarray, " F"]:
    """The threshold of one label without the rows of each fold."""
    positive = int(targets.sum())
    if not FEWEST_ROWS <= positive <= len(targets) - FEWEST_ROWS:
        return np.full(FOLDS, DEFAULT)
    order = np.argsort(-logits)  # once: what is sorted already is sorted again in no time
    logits, targets, fold_of = logits[order], targets[order], fold_of[order]
    others = (fold_of != fold for fold in range(FOLDS))
    return np.array([best_threshold(logits[rows], targets[rows], macro=macro) for rows in others])


def best_threshold(logits: Float[np.ndarray, " N"], targets: Int[np.ndarray, " N"], *, macro: bool = False) -> float:
    """The logit from which the prediction of one label has the best F1, in the middle between two of `logits`.

    `macro`: the best mean of the F1 of the rows that have the label and of those that lack it, the macro F1 of two
    classes. The highest of several that are equally good, so that the fewest rows have the label; `DEFAULT` if no row
    has it, or every row.
    """
    positive = int(targets.sum())
    if positive in (0, len(targets)):
        return DEFAULT
    order = np.argsort(-logits, kind="stable")
    logits, targets = logits[order], targets[order]
    rows, predicted, correct = len(logits), np.arange(len(logits) + 1), np.append(0, np.cumsum(targets))
    f1 = 2 * correct / (predicted + positive)
    if macro:
        f1 = (f1 + 2 * (rows - predicted - positive + correct) / (2 * rows - predicted - positive)) / 2
    # A unit above the highest, which predicts the label for no row, and a unit below the lowest: for every row.
    above, below = np.append(logits[0] + 1, logits), np.append(logits, logits[-1] - 1)
    best = int(np.argmax(np.where(above > below, f1, -1)))  # equal logits are predicted alike
    middle = below[best] + (above[best] - below[best]) / 2
    return float(middle if middle > below[best] else above[best])  # no number is between the nearest ones
