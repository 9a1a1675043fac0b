"""Weights of labels: their mean over the training rows is 1; several labels are balanced one by one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.finetune.class_weights import checked_class_weights, class_weights
from litebert.errors import ConfigError
from litebert.tasks.labelled_data import Example, LabelledData

LABELS = ("a", "b", "c")


def rows(targets, kind="classification"):
    examples = tuple(Example("text", None, target) for target in targets)
    return LabelledData(Path("rows.csv"), kind, examples, LABELS, "test")


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=30),
    st.one_of(st.just("balanced"), st.dictionaries(st.sampled_from(LABELS), st.floats(0.1, 10), min_size=1)),
)
def test_the_mean_over_the_training_rows_is_one(targets, setting):
    weights = class_weights(setting, rows(targets))
    assert weights[targets].mean() == pytest.approx(1)


def test_balanced_labels_count_alike_in_sum():
    targets = [0] * 6 + [1] * 3
    weights = class_weights("balanced", rows(targets))
    assert weights[:2].tolist() == pytest.approx([9 / 2 / 6, 9 / 2 / 3])


def test_only_the_ratios_of_given_weights_count():
    targets = [0, 0, 1, 2]
    first, second = ({"a": weight, "b": 2 * weight, "c": 4 * weight} for weight in (1.0, 5.0))
    assert np.allclose(class_weights(first, rows(targets)), class_weights(second, rows(targets)))


def test_of_several_labels_a_rare_one_counts_for_the_rows_without_it():
    targets = [(1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0)]
    assert class_weights("balanced", rows(targets, "multi_label")).tolist() == pytest.approx([1 / 3, 3, 1])
    assert class_weights({"b": 5.0}, rows(targets, "multi_label")).tolist() == [1, 5, 1]


@pytest.mark.parametrize(("present", "word"), [(0.0, "no"), (1.0, "every")])
def test_what_cannot_be_balanced_is_said(present, word):
    targets = [(1.0, 0.0, present), (0.0, 1.0, present)]
    with pytest.raises(ConfigError, match=f"{word} training row has the label 'c', which cannot be balanced"):
        class_weights("balanced", rows(targets, "multi_label"))


def test_null_weighs_nothing():
    assert class_weights(None, rows([0, 1])) is None


def test_names_that_look_like_numbers_are_text():
    assert checked_class_weights({1: 2}) == {"1": 2.0}
