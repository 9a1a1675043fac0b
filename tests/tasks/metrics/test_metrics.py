"""Metrics by their definitions, on answers small enough to count by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError, MissingExtraError
from litebert.tasks.metrics.metrics import METRICS, check_metrics, confusion_matrix, measure, wilson_interval

LABELS = np.array([0, 0, 0, 1, 1, 1, 1, 1])
ANSWERS = np.array([0, 1, 0, 1, 1, 1, 0, 1])  # 4 true positives, 1 false positive, 1 false negative, 2 true negatives


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 6 / 8),
        ("f1", 2 * 4 / (2 * 4 + 1 + 1)),
        ("macro_f1", (4 / 5 + 2 / 3) / 2),
        ("matthews", (4 * 2 - 1 * 1) / (5 * 5 * 3 * 3) ** 0.5),
    ],
)
def test_classification_metrics_follow_their_definition(name, expected):
    assert measure([name], ANSWERS, LABELS) == {name: pytest.approx(expected)}


def test_correlations_follow_their_definition():
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    answers = np.array([1.0, 4.0, 9.0, 16.0])
    assert measure(["pearson", "spearman"], answers, scores) == {
        "pearson": pytest.approx(np.corrcoef(answers, scores)[0, 1]),
        "spearman": pytest.approx(1.0),
    }


TRUE = {
    "classification": LABELS,
    "multiple_choice": LABELS,
    "regression": np.array([1.0, 0.5, 3.0, 2.0]),
    "multi_label": np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]]),
    "tokens": [["O", "B-X", "I-X"], ["O"], ["B-Y", "O"]],
}
CONSTANT = {kind: np.zeros_like(true) for kind, true in TRUE.items() if kind != "tokens"} | {
    "tokens": [["O"] * len(tags) for tags in TRUE["tokens"]]
}
OF_NOTHING = {
    "accuracy": 3 / 8,
    "macro_f1": 3 / 11,
    "subset_accuracy": 1 / 4,
    "sample_f1": 1 / 4,
    "word_accuracy": 1 / 2,
}
"""What an answer that never changes scores; 0 in every other metric."""
CASES = [(name, kind) for name, metric in METRICS.items() for kind in metric.kinds if kind in TRUE]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_truth_scores_one(name, kind):
    assert measure([name], TRUE[kind], TRUE[kind])[name] == pytest.approx(1)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_an_answer_that_never_changes_scores_what_it_must(name, kind):
    expected = 0.0 if (name, kind) == ("macro_f1", "multi_label") else OF_NOTHING.get(name, 0.0)
    assert measure([name], CONSTANT[kind], TRUE[kind])[name] == pytest.approx(expected)


@pytest.mark.parametrize("answer", [0, 1])
def test_rows_of_one_label_correlate_with_nothing_and_say_so_quietly(answer):
    assert measure(["matthews"], np.full(3, answer), np.ones(3, int)) == {"matthews": 0.0}


def test_metrics_of_several_labels_follow_their_definition():
    predicted = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]])
    names = ["micro_f1", "macro_f1", "sample_f1", "subset_accuracy"]
    assert measure(names, predicted, TRUE["multi_label"]) == {
        "micro_f1": pytest.approx(2 * 5 / (6 + 6)),
        "macro_f1": pytest.approx((1 + 4 / 5 + 2 / 3) / 3),
        "sample_f1": pytest.approx((4 / 5 + 1 + 1 + 4 / 5) / 4),
        "subset_accuracy": 2 / 4,
    }


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_holds_the_share_and_stays_in_the_unit_interval(counts):
    right, total = counts
    low, high = wilson_interval(right, total)
    assert 0 <= low <= right / total + 1e-12
    assert right / total - 1e-12 <= high <= 1


def test_the_interval_is_wilsons():
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe (1998), table I


def test_the_confusion_matrix_counts_answers_by_true_label():
    assert confusion_matrix(ANSWERS, LABELS, num_labels=3) == [[2, 1, 0], [1, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("names", "kind", "num_labels", "message"),
    [
        (["acuracy"], "classification", 2, "unknown metric 'acuracy'"),
        (["pearson"], "classification", 2, "'pearson' does not measure 'classification'; accuracy, "),
        (["f1"], "classification", 3, "'f1' is for two labels, this task has 3"),
    ],
)
def test_metrics_that_do_not_fit_are_refused_at_the_door(names, kind, num_labels, message):
    with pytest.raises(ConfigError, match=message):
        check_metrics(names, kind=kind, num_labels=num_labels)


def test_without_the_extra_only_accuracy_can_be_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    check_metrics(["accuracy"], kind="classification", num_labels=2)
    with pytest.raises(MissingExtraError, match=r"litebert\[eval\]"):
        check_metrics(["macro_f1"], kind="classification", num_labels=2)
    with pytest.raises(MissingExtraError, match="scipy"):
        check_metrics(["pearson", "spearman"], kind="regression", num_labels=1)
