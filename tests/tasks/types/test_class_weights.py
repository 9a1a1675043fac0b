"""Weights of labels in the loss."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import Example, LabelledData
from litebert.tasks.types.registry import get_task_type

LABELS = ("a", "b", "c")


def class_weights(setting, data):
    return get_task_type(data.task_type).loss.class_weights(setting, data)


def rows(targets, task_type="classification"):
    examples = tuple(Example(text="text", target=target) for target in targets)
    return LabelledData(Path("rows.csv"), task_type, examples, LABELS, "test")


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=30),
    st.one_of(st.just("balanced"), st.dictionaries(st.sampled_from(LABELS), st.floats(0.1, 10), min_size=1)),
)
def test_class_weights_have_mean_one_over_the_training_examples(targets, setting):
    weights = class_weights(setting, rows(targets))
    assert weights[targets].mean() == pytest.approx(1)


def test_balanced_class_weights_give_labels_equal_sums():
    targets = [0] * 6 + [1] * 3
    weights = class_weights("balanced", rows(targets))
    assert weights[:2].tolist() == pytest.approx([9 / 2 / 6, 9 / 2 / 3])


def test_class_weights_depend_on_the_ratios_of_the_setting_only():
    targets = [0, 0, 1, 2]
    first, second = ({"a": weight, "b": 2 * weight, "c": 4 * weight} for weight in (1.0, 5.0))
    assert np.allclose(class_weights(first, rows(targets)), class_weights(second, rows(targets)))


def test_multi_label_class_weights_are_absent_per_present_labels():
    targets = [(1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)]
    assert class_weights("balanced", rows(targets, "multi_label")).tolist() == pytest.approx([1 / 3, 3, 1])
    assert class_weights({"b": 5.0}, rows(targets, "multi_label")).tolist() == [1, 5, 1]


@pytest.mark.parametrize(("present", "word"), [(0.0, "no"), (1.0, "every")])
def test_multi_label_class_weights_reject_a_label_in_no_or_every_row(present, word):
    targets = [(1.0, 0.0, present), (0.0, 1.0, present)]
    with pytest.raises(ConfigError, match=f"{word} training row has the label 'c', which cannot be balanced"):
        class_weights("balanced", rows(targets, "multi_label"))


@pytest.mark.parametrize("task_type", ["classification", "multi_label"])
def test_class_weights_reject_an_unknown_label(task_type):
    with pytest.raises(ConfigError, match="class_weights: unknown label 'd'; labels are a, b, c"):
        class_weights({"d": 2.0}, rows([0, 1] if task_type == "classification" else [(1.0, 0.0, 0.0)], task_type))
