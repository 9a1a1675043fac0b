"""Thresholds of labels: laws of the best one, and of the folds that choose them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.label_thresholds import DEFAULT, FOLDS, best_threshold, label_thresholds
from litebert.tasks.results import logits_of, sigmoid
from support.models.tolerances import close_to

LOGITS = st.integers(-40, 40).map(lambda number: number / 8)
ROWS = st.lists(st.tuples(LOGITS, st.booleans()), min_size=1, max_size=30)


def arrays(rows):
    """Logits, many of which are equal, and whether each row has the label."""
    return np.array([logit for logit, _ in rows]), np.array([int(has) for _, has in rows])


def macro_f1(logits, targets, threshold):
    """The mean of the F1 of having and of lacking the label."""
    lacking = ~(logits >= threshold)
    of_lacking = 2 * int((lacking & (targets == 0)).sum()) / max(int(lacking.sum() + (targets == 0).sum()), 1)
    return (f1(logits, targets, threshold) + of_lacking) / 2


def f1(logits, targets, threshold):
    predicted = logits >= threshold
    return 2 * int((predicted & (targets > 0)).sum()) / max(int(predicted.sum() + targets.sum()), 1)


@given(ROWS)
def test_best_threshold_has_no_worse_f1_than_one_half(rows):
    logits, targets = arrays(rows)
    assert f1(logits, targets, best_threshold(logits, targets)) >= f1(logits, targets, DEFAULT)


@given(ROWS)
def test_best_threshold_has_the_best_f1_of_all(rows):
    logits, targets = arrays(rows)
    if 0 < targets.sum() < len(targets):
        best = max(f1(logits, targets, threshold) for threshold in logits)
        found = best_threshold(logits, targets)
        assert f1(logits, targets, found) == best
        assert found not in logits
        higher = [each for each in logits if each > found and f1(logits, targets, each) == best]
        assert len({*higher}) <= 1, "the lowest predicted logit, and no cut above it is as good"


@given(ROWS)
def test_threshold_of_two_classes_has_the_best_macro_f1_of_all(rows):
    logits, targets = arrays(rows)
    if 0 < targets.sum() < len(targets):
        best = max(macro_f1(logits, targets, threshold) for threshold in (*logits, logits.max() + 1))
        found = best_threshold(logits, targets, macro=True)
        assert macro_f1(logits, targets, found) == close_to(best)


@given(ROWS)
def test_threshold_of_two_classes_is_the_same_when_the_classes_change_places(rows):
    logits, targets = arrays(rows)
    if 0 < targets.sum() < len(targets):
        found, other = (best_threshold(*each, macro=True) for each in ((logits, targets), (-logits, 1 - targets)))
        assert macro_f1(logits, targets, found) == close_to(macro_f1(-logits, 1 - targets, other))


@given(ROWS, st.integers(-8, 8))
def test_best_threshold_moves_with_the_logits(rows, shift):
    logits, targets = arrays(rows)
    if 0 < targets.sum() < len(targets):
        assert best_threshold(logits + shift, targets) == best_threshold(logits, targets) + shift


@given(ROWS, st.randoms(use_true_random=False))
def test_best_threshold_does_not_depend_on_the_order_of_rows(rows, random):
    found = best_threshold(*arrays(rows))
    random.shuffle(rows)
    assert best_threshold(*arrays(rows)) == found


def test_best_threshold_is_between_the_lowest_positive_and_the_highest_negative():
    assert best_threshold(np.array([-3.0, 1.0, -1.0, 4.0]), np.array([0, 1, 0, 1])) == 0.0


def test_best_threshold_is_above_the_highest_negative_that_is_the_nearest_number():
    below = np.float32(1.0)
    logits = np.array([np.nextafter(below, np.float32(2)), below], np.float32)
    assert (logits >= best_threshold(logits, np.array([1, 0]))).tolist() == [True, False]


def test_threshold_of_a_label_of_no_row_or_of_every_row_is_one_half():
    logits = np.array([-2.0, 3.0, 1.0])
    assert best_threshold(logits, np.zeros(3, int)) == best_threshold(logits, np.ones(3, int)) == DEFAULT


def test_threshold_that_predicts_every_row_is_below_the_lowest_logit():
    assert best_threshold(np.array([-2.0, 1.0]), np.array([1, 0])) == -2.5


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 4))
def test_thresholds_of_a_row_are_chosen_on_the_other_folds(seed, rows, labels):
    rng = np.random.default_rng(seed)
    logits, targets = rng.normal(size=(rows, labels)), rng.integers(2, size=(rows, labels))
    found = label_thresholds(logits, targets)
    folds = np.unique(found.cross_fitted, axis=0)
    assert len(folds) <= FOLDS
    row, label = int(rng.integers(rows)), int(rng.integers(labels))
    changed = logits.copy()
    changed[row, label] += 5
    assert label_thresholds(changed, targets).cross_fitted[row, label] == found.cross_fitted[row, label]
    assert found.chosen.shape == (labels,)
    assert np.clip(found.chosen, folds.min(axis=0), folds.max(axis=0)) == close_to(found.chosen)


def test_label_of_a_single_row_keeps_one_half():
    """No other fold has a row to choose its threshold, so that it cannot be scored."""
    logits = np.random.default_rng(0).normal(size=(20, 3)) - 4
    targets = np.zeros((20, 3), int)
    targets[0, 0], targets[:2, 1], targets[1:, 2] = 1, 1, 1
    found = label_thresholds(logits, targets)
    assert found.chosen[0] == found.chosen[2] == DEFAULT
    assert found.chosen[1] < DEFAULT


def test_cross_fitted_scores_of_labels_that_are_chance_are_below_those_of_the_same_rows():
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(60, 40)), (rng.random((60, 40)) < 0.1).astype(int)
    found = label_thresholds(logits, targets)
    thresholds = np.broadcast_to(found.chosen, logits.shape)
    same, other = (
        np.mean([f1(*each) for each in zip(logits.T, targets.T, of_rows.T, strict=True)])
        for of_rows in (thresholds, found.cross_fitted)
    )
    assert other < same


@given(st.lists(st.floats(-30, 30), min_size=1))
def test_logits_are_those_of_their_probabilities(values):
    logits = np.array(values)
    assert logits_of(sigmoid(logits)) == close_to(logits, depth="compound")
    assert np.isfinite(logits_of(np.array([0.0, 1.0]))).all()
