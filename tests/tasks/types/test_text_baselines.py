"""Baselines of text tasks."""

import sys
from pathlib import Path

import numpy as np
import pytest

from litebert.errors import MissingExtraError
from litebert.tasks.labelled_data import Example, LabelledData
from litebert.tasks.readers.columns import Columns
from litebert.tasks.task_of_data import task_for
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample
from litebert.tasks.types.registry import get_task_type, task_types

pytest.importorskip("sklearn")
WORDS = {"good": ("wonderful", "great", "lovely"), "bad": ("awful", "dull", "poor")}


def data_of(task_type, targets, labels, *, is_pair=False):
    """Rows whose words tell the target."""
    rows = [
        Example(
            text=f"the {noun} was {WORDS['good' if np.sum(target) > 0 else 'bad'][index % 3]}",
            text_pair=f"{noun} again" if is_pair else None,
            target=target,
        )
        for noun in ("film", "play", "book", "song")
        for index, target in enumerate(targets)
    ]
    return LabelledData(Path("t.csv"), task_type, tuple(rows), labels, "")


def scores(data, metrics=()):
    task = task_for(data, Columns(), metrics)
    baselines = get_task_type(data.task_type).baselines
    return baselines.constant[1](task, data, data), baselines.linear[1](task, data, data)


@pytest.mark.parametrize("is_pair", [False, True])
def test_class_baselines_are_the_majority_and_a_model_that_reads_the_text(is_pair):
    data = data_of("classification", [1, 1, 1, 0, 0], ("bad", "good", "never"), is_pair=is_pair)
    constant, linear = scores(data, ("accuracy", "roc_auc"))
    assert constant == {"accuracy": 0.6, "roc_auc": 0.5}
    assert linear["accuracy"] == 1.0


def test_label_baselines_predict_each_label_alone():
    data = data_of("multi_label", [(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (0.0, 0.0)], ("a", "never"))
    constant, linear = scores(data, ("subset_accuracy",))
    assert constant == {"subset_accuracy": 0.75}
    assert linear == {"subset_accuracy": 1.0}


def test_score_baselines_are_the_mean_and_a_ridge_regression():
    constant, linear = scores(data_of("regression", [4.0, 3.5, -1.0, -2.5], None))
    assert constant == {"pearson": 0.0, "spearman": 0.0}
    assert linear["pearson"] > 0.8


def test_linear_baseline_of_blank_texts_is_a_constant():
    rows = tuple(Example(text=" ", target=index % 2) for index in range(6))
    _, linear = scores(LabelledData(Path("t.csv"), "classification", rows, ("a", "b"), ""))
    assert linear == {"accuracy": 0.5}


@pytest.mark.parametrize(
    ("task_type", "targets", "labels", "loss"),
    [
        ("classification", [0, 0, 1, 1], ("a", "b"), np.log(2)),
        ("multi_label", [(1.0, 0.0), (0.0, 0.0)], ("a", "b"), np.log(2) / 2),
        ("regression", [1.0, 3.0], None, 1.0),
    ],
)
def test_constant_loss_is_that_of_predicting_the_frequencies(task_type, targets, labels, loss):
    baselines = get_task_type(task_type).baselines
    assert baselines.constant_loss(data_of(task_type, targets, labels)) == pytest.approx(loss)


def test_linear_baseline_without_scikit_learn_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[eval\]"):
        scores(data_of("classification", [1, 0], ("bad", "good")))


def test_linear_baseline_of_texts_without_words_reads_their_characters():
    texts = {0: "!!!", 1: "..."}
    rows = tuple(Example(text=texts[target], target=target) for target in (0, 1) * 4)
    data = LabelledData(Path("t.csv"), "classification", rows, ("a", "b"), "")
    assert scores(data, ("accuracy",))[1]["accuracy"] == 1.0


@pytest.mark.parametrize("task_type", [each for each in task_types() if each.baselines], ids=lambda each: each.name)
def test_lowest_loss_of_plain_labels_is_zero_for_the_examples_of_every_task_type(task_type):
    is_pronoun = task_type.name == "pronoun_resolution"
    example = PronounExample(text="it", pronoun=(0, 2), candidate="a", target=0) if is_pronoun else Example(text="a")
    data = LabelledData(Path("rows.csv"), task_type.name, (example,), ("a", "b"), "")
    assert task_type.baselines.lowest_loss(data) == 0
