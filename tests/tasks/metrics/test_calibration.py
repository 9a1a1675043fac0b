"""Calibration by its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.metrics import calibration


def test_calibration_error_is_the_weighted_distance_of_confidence_and_accuracy():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    result = calibration(probabilities, np.array([0, 1, 1, 1]))
    bins = {one.high: (one.examples, one.confidence, one.accuracy) for one in result.bins}
    assert bins == {
        0.9: (2, pytest.approx(0.9), 0.5),
        0.6: (1, pytest.approx(0.6), 1.0),
        1.0: (1, pytest.approx(1.0), 1.0),
    }
    assert result.expected_error == pytest.approx((2 * 0.4 + 0.4 + 0) / 4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(0, 2**32 - 1))
def test_calibration_bins_partition_the_examples(values, seed):
    probabilities = np.stack([values, 1 - np.array(values)], axis=1)
    labels = np.random.default_rng(seed).integers(0, 2, len(values))
    result = calibration(probabilities, labels)
    assert sum(one.examples for one in result.bins) == len(values)
    assert 0 <= result.expected_error <= 1


def test_calibration_puts_the_least_possible_confidence_into_the_first_bin():
    """Of 20 classes none need have a probability above 0.05."""
    result = calibration(np.full((4, 20), 0.05), np.arange(4))
    assert [(bin.low, bin.high, bin.examples) for bin in result.bins] == [(0.0, 0.1, 4)]
