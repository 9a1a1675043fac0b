"""Metrics by their definitions, on answers small enough to count by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError, MissingExtraError
from litebert.tasks.metrics import DEFAULTS, METRICS, check_metrics, confusion_matrix, measure, wilson_interval

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


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if name != "accuracy"])
def test_answers_that_never_change_score_no_better_than_nothing(name):
    kind = METRICS[name].kind
    labels = LABELS if kind == "classification" else LABELS.astype(np.float32)
    constant = np.zeros_like(labels)
    assert measure([name], constant, labels)[name] <= (0.3 if name == "macro_f1" else 0.0)


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
        (["pearson"], "classification", 2, "'pearson' does not measure a classification; accuracy, "),
        (["f1"], "classification", 3, "'f1' is for two labels, this task has 3"),
    ],
)
def test_metrics_that_do_not_fit_are_refused_at_the_door(names, kind, num_labels, message):
    with pytest.raises(ConfigError, match=message):
        check_metrics(names, kind=kind, num_labels=num_labels)


def test_without_the_extra_only_accuracy_can_be_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    check_metrics(DEFAULTS["classification"], kind="classification", num_labels=2)
    with pytest.raises(MissingExtraError, match=r"litebert\[eval\]"):
        check_metrics(["macro_f1"], kind="classification", num_labels=2)
    with pytest.raises(MissingExtraError, match="scipy"):
        check_metrics(DEFAULTS["regression"], kind="regression", num_labels=1)
