"""Averages of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.inference.task_pipeline import average_predictions
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.results import class_probabilities, mean, reorder_labels, softmax
from litebert.tasks.types.registry import get_task_type

VECTORS = st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6)


@given(VECTORS, st.randoms())
def test_mean_does_not_depend_on_the_order_of_the_members(members, random):
    arrays = [np.array(member) for member in members]
    shuffled = random.sample(arrays, len(arrays))
    assert mean(arrays).tobytes() == mean(shuffled).tobytes()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(1, 9))
def test_mean_of_equal_members_is_the_member(member, count):
    assert mean([np.array(member)] * count).tolist() == member


def test_mean_is_of_probabilities_not_of_logits():
    certain, leaning = np.array([4.0, -4.0]), np.array([-0.5, 0.5])
    members = [class_probabilities(each, InputSettings(), np.float64) for each in (certain, leaning, leaning)]
    assert mean(members) == pytest.approx((softmax(certain) + 2 * softmax(leaning)) / 3)


def test_reorder_labels_permutes_the_last_axis():
    given_ = [np.array([0.1, 0.2, 0.7]), np.array([[0.5, 0.25, 0.25]])]
    found = [reorder_labels(each, ("c", "a", "b"), ("a", "b", "c")) for each in given_]
    assert [each.tolist() for each in found] == [[0.7, 0.1, 0.2], [[0.25, 0.5, 0.25]]]
    assert reorder_labels(given_[0], ("a",), ("a",)) is given_[0]


@pytest.mark.parametrize(("members", "message"), [([], "found no member"), ([[1], [1, 2]], "found 1, 2")])
def test_average_predictions_reject_members_with_different_examples(members, message):
    with pytest.raises(ConfigError, match=message):
        average_predictions(members, get_task_type("classification"))
