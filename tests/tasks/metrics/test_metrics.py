"""Metrics by their definitions."""

import functools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.errors import ConfigError, MissingExtraError
from litebert.tasks.metrics import metrics
from litebert.tasks.metrics.metrics import (
    _NAMES_ELSEWHERE,
    METRICS,
    check_metrics,
    confusion_matrix,
    measure,
    wilson_interval,
    wilson_interval_of_mean,
)
from litebert.tasks.types.registry import get_task_type, task_types

LABELS = np.array([0, 0, 0, 1, 1, 1, 1, 1])
PREDICTED = np.array([0, 1, 0, 1, 1, 1, 0, 1])  # 4 true positives, 1 false positive, 1 false negative, 2 true negatives


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 6 / 8),
        ("f1", 2 * 4 / (2 * 4 + 1 + 1)),
        ("precision", 4 / (4 + 1)),
        ("recall", 4 / (4 + 1)),
        ("macro_f1", (4 / 5 + 2 / 3) / 2),
        ("matthews", (4 * 2 - 1 * 1) / (5 * 5 * 3 * 3) ** 0.5),
    ],
)
def test_classification_metrics_follow_their_definition(name, expected):
    assert measure([name], PREDICTED, LABELS) == {name: pytest.approx(expected)}


def test_regression_metrics_follow_their_definition():
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
    "token_classification": [["O", "B-X", "I-X"], ["O"], ["B-Y", "O"]],
}
CONSTANT = {kind: np.zeros_like(true) for kind, true in TRUE.items() if kind != "token_classification"} | {
    "token_classification": [["O"] * len(tags) for tags in TRUE["token_classification"]]
}
OF_CONSTANT = {
    "accuracy": 3 / 8,
    "balanced_accuracy": 1 / 2,
    "roc_auc": 1 / 2,
    "weighted_f1": 3 / 8 * 6 / 11,
    "macro_f1": 3 / 11,
    "macro_precision": 3 / 8 / 2,
    "macro_recall": 1 / 2,
    "subset_accuracy": 1 / 4,
    "sample_f1": 1 / 4,
    "word_accuracy": 1 / 2,
    "neg_mean_absolute_error": -6.5 / 4,
    "r2": 1 - (1 + 0.25 + 9 + 4) / (0.625**2 + 1.125**2 + 1.375**2 + 0.375**2),
}
"""Scores of constant predictions; 0 in every other metric."""
PER_LABEL = {(name, "multi_label") for name in ("macro_f1", "macro_precision", "macro_recall", "weighted_f1")}
CASES = [(name, each.name) for each in task_types() if each.name in TRUE for name in each.all_metrics]


def measured(name, predictions, targets):
    """A metric of predictions that are certain."""
    is_class = METRICS[name].takes_probabilities and np.ndim(predictions) == 1
    return measure([name], predictions, targets, np.eye(2)[predictions] if is_class else predictions)[name]


@pytest.mark.parametrize(("name", "task_type"), CASES)
def test_metrics_of_perfect_predictions_are_one(name, task_type):
    expected = 0.0 if name == "neg_mean_absolute_error" else 1.0
    assert measured(name, TRUE[task_type], TRUE[task_type]) == pytest.approx(expected)


@pytest.mark.parametrize(("name", "task_type"), CASES)
def test_metrics_of_constant_predictions(name, task_type):
    expected = 0.0 if (name, task_type) in PER_LABEL else OF_CONSTANT.get(name, 0.0)
    assert measured(name, CONSTANT[task_type], TRUE[task_type]) == pytest.approx(expected)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_metrics_of_classes_equal_those_of_scikit_learn(seed, num_labels):
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(num_labels), size=40)
    targets = np.concatenate([np.arange(num_labels), rng.integers(num_labels, size=40 - num_labels)])
    predicted = probabilities.argmax(-1)
    names = ["balanced_accuracy", "weighted_f1", "macro_f1", "macro_precision", "macro_recall", "roc_auc"]
    areas = probabilities[:, 1] if num_labels == 2 else probabilities
    assert measure(names, predicted, targets, probabilities) == {
        "balanced_accuracy": pytest.approx(sklearn.balanced_accuracy_score(targets, predicted)),
        "weighted_f1": pytest.approx(sklearn.f1_score(targets, predicted, average="weighted", zero_division=0.0)),
        "macro_f1": pytest.approx(sklearn.f1_score(targets, predicted, average="macro", zero_division=0.0)),
        "macro_precision": pytest.approx(
            sklearn.precision_score(targets, predicted, average="macro", zero_division=0.0)
        ),
        "macro_recall": pytest.approx(sklearn.recall_score(targets, predicted, average="macro", zero_division=0.0)),
        "roc_auc": pytest.approx(sklearn.roc_auc_score(targets, areas, multi_class="ovr")),
    }


@settings(max_examples=25)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_precision_and_recall_of_two_labels_equal_those_of_scikit_learn(decisions):
    sklearn = pytest.importorskip("sklearn.metrics")
    targets, predicted = np.array(decisions, int).T
    assert measure(["precision", "recall"], predicted, targets) == {
        "precision": pytest.approx(sklearn.precision_score(targets, predicted, zero_division=0.0)),
        "recall": pytest.approx(sklearn.recall_score(targets, predicted, zero_division=0.0)),
    }


def test_correlations_do_not_see_an_offset_and_errors_do():
    labels = np.array([0.0, 10.0, 20.0])
    names = ["pearson", "r2", "neg_mean_absolute_error"]
    assert measure(names, labels + 30, labels, None) == {
        "pearson": pytest.approx(1),
        "r2": pytest.approx(-12.5),
        "neg_mean_absolute_error": pytest.approx(-30),
    }
    assert measure(["r2"], labels, np.ones(3), None) == {"r2": 0}


@pytest.mark.parametrize("num_labels", [2, 3])
def test_roc_auc_of_several_labels_equals_that_of_scikit_learn(num_labels):
    sklearn = pytest.importorskip("sklearn.metrics")
    probabilities = np.array([[0.9, 0.4, 0.5], [0.2, 0.3, 0.6], [0.5, 0.1, 0.7], [0.6, 0.8, 0.2]])[:, :num_labels]
    targets = TRUE["multi_label"][:, :num_labels]
    expected = sklearn.roc_auc_score(targets, probabilities, average="macro")
    assert measure(["roc_auc"], None, targets, probabilities) == {"roc_auc": pytest.approx(expected)}


def test_roc_auc_leaves_out_labels_without_an_example():
    probabilities = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.5, 0.4, 0.1]])
    assert measure(["roc_auc"], None, np.array([0, 1, 1]), probabilities) == {"roc_auc": 1.0}
    assert measure(["roc_auc"], None, np.array([1, 1, 1]), probabilities) == {"roc_auc": 0.5}


@pytest.mark.parametrize("answer", [0, 1])
def test_matthews_of_constant_labels_is_zero_without_a_warning(answer):
    assert measure(["matthews"], np.full(3, answer), np.ones(3, int)) == {"matthews": 0.0}


def test_multi_label_metrics_follow_their_definition():
    predicted = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]])
    names = ["micro_f1", "macro_f1", "sample_f1", "subset_accuracy"]
    assert measure(names, predicted, TRUE["multi_label"]) == {
        "micro_f1": pytest.approx(2 * 5 / (6 + 6)),
        "macro_f1": pytest.approx((1 + 4 / 5 + 2 / 3) / 3),
        "sample_f1": pytest.approx((4 / 5 + 1 + 1 + 4 / 5) / 4),
        "subset_accuracy": 2 / 4,
    }


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_interval_contains_the_share(counts):
    right, total = counts
    low, high = wilson_interval(right, total)
    assert 0 <= low <= right / total + 1e-12
    assert right / total - 1e-12 <= high <= 1


def test_wilson_interval_equals_a_published_one():
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe (1998), table I


@pytest.mark.parametrize(("right", "total"), [(0, 1), (1, 1), (7, 10), (99, 100), (2.5, 4)])
def test_interval_of_the_mean_of_one_accuracy_is_wilsons(right, total):
    assert wilson_interval_of_mean([right / total], [total]) == pytest.approx(wilson_interval(right, total))


@pytest.mark.parametrize(
    ("accuracies", "total"),
    [
        *(([0.9], 20), ([0.9, 0.9], 20), ([0.9, 0.6, 0.99], 20), ([0.5] * 4, 10), ([0.95] * 12, 10)),
        *(([0.99] * 10, 20), ([0.99] * 67, 20), ([1.0, 1.0, 0.9], 20), ([0.8, 0.95, 0.6], [5, 50, 500])),
        (np.linspace(0.3, 0.99, 67), 1000),
    ],
)
def test_interval_of_a_mean_covers_the_true_one_in_95_of_100_cases(accuracies, total):
    generator, truth = np.random.default_rng(0), np.array(accuracies)
    totals = np.broadcast_to(total, truth.shape)
    intervals = [
        wilson_interval_of_mean(right / totals, totals)
        for right in generator.binomial(totals, truth, (2000, len(truth)))
    ]
    covered = np.mean([low <= truth.mean() <= high for low, high in intervals])
    assert 0.935 <= covered <= 0.975


def test_interval_of_many_large_paradigms_is_the_normal_approximation():
    """At the size of BLiMP, within a hundredth of a point."""
    accuracies = np.linspace(0.3, 1.0, 67)
    error = 1.96 * (accuracies * (1 - accuracies) / 1000).sum() ** 0.5 / 67
    expected = (accuracies.mean() - error, accuracies.mean() + error)
    assert wilson_interval_of_mean(accuracies, [1000] * 67) == pytest.approx(expected, abs=1e-4)


def test_confusion_matrix_counts_by_true_and_predicted_label():
    assert confusion_matrix(PREDICTED, LABELS, num_labels=3) == [[2, 1, 0], [1, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("names", "task_type", "num_labels", "message"),
    [
        (["acuracy"], "classification", 2, "unknown metric 'acuracy'"),
        (["pearson"], "classification", 2, "'pearson' does not apply to this task type; use accuracy, "),
        (["f1"], "classification", 3, "'f1' is for two labels, this task has 3; use 'macro_f1'"),
        (["recall"], "classification", 3, "'recall' is for two labels, this task has 3; use 'macro_recall'"),
    ],
)
def test_check_metrics_rejects_metrics_that_do_not_apply(names, task_type, num_labels, message):
    with pytest.raises(ConfigError, match=message):
        check_metrics(names, applicable=get_task_type(task_type).all_metrics, num_labels=num_labels)


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("f1_macro", "macro_f1"),
        ("f1_micro", "micro_f1"),
        ("f1_samples", "sample_f1"),
        ("recall_macro", "macro_recall"),
        ("roc_auc_score", "roc_auc"),
        ("mse", "neg_mean_absolute_error"),
        ("matthews_corrcoef", "matthews"),
        ("spearmanr", "spearman"),
        ("acuracy", "accuracy"),
    ],
)
def test_check_metrics_names_the_metric_that_scikit_learn_calls_so(name, here):
    with pytest.raises(ConfigError, match=rf"unknown metric '{name}' \(did you mean '{here}'\?\); expected one of acc"):
        check_metrics([name], applicable=["accuracy"], num_labels=2)


def test_every_name_of_another_library_stands_for_a_metric():
    assert set(_NAMES_ELSEWHERE.values()) <= set(METRICS)
    assert not set(_NAMES_ELSEWHERE) & set(METRICS)


def test_check_metrics_names_the_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    check_metrics(["accuracy"], applicable=["accuracy"], num_labels=2)
    with pytest.raises(MissingExtraError, match=r"litebert\[eval\]"):
        check_metrics(["macro_f1"], applicable=["macro_f1"], num_labels=2)
    with pytest.raises(MissingExtraError, match="scipy"):
        check_metrics(["pearson", "spearman"], applicable=["pearson", "spearman"], num_labels=1)


@pytest.fixture
def own_metrics(monkeypatch):
    """Metrics that are registered in the test are forgotten after it."""
    monkeypatch.setattr(metrics, "METRICS", dict(metrics.METRICS))
    monkeypatch.setattr(metrics, "_OWN_METRICS", set())


@pytest.mark.parametrize("given", ["accuracy", ("accuracy",), iter(["accuracy"])])
def test_one_metric_needs_no_list(given):
    assert metrics.listed_metrics(given) == ["accuracy"]


def test_own_metric_applies_to_every_task_type_and_may_be_replaced(own_metrics):
    def agreement(predictions, labels):
        return 0.25

    assert metrics.register_metric(agreement) == "agreement"
    check_metrics(["agreement"], applicable=(), num_labels=3)
    assert measure(["agreement"], [1], [1]) == {"agreement": 0.25}

    def other(predictions, labels):
        return 0.75

    other.__name__ = "agreement"
    metrics.register_metric(other)
    assert measure(["agreement"], [1], [1]) == {"agreement": 0.75}


def test_own_metric_may_return_a_number_of_numpy_and_nothing_else(own_metrics):
    def correct(predictions, labels):
        return (predictions == labels).sum()

    def words(predictions, labels):
        return "many"

    for each in (correct, words):
        metrics.register_metric(each)
    found = measure(["correct"], np.array([1, 0]), np.array([1, 1]))["correct"]
    assert (found, type(found)) == (1.0, float)
    with pytest.raises(ConfigError, match="metrics: words returned a str, expected a number"):
        measure(["words"], np.array([1]), np.array([1]))


def test_own_metric_with_the_name_of_another_metric_is_refused(own_metrics):
    def accuracy(predictions, labels):
        return 1.0

    with pytest.raises(ConfigError, match="'accuracy' is the name of a metric of litebert; rename the function"):
        metrics.register_metric(accuracy)
    assert metrics.register_metric(metrics.METRICS["accuracy"].measure) == "accuracy"


def test_micro_f1_without_any_label_is_zero():
    assert measure(["micro_f1"], np.zeros((3, 2), int), np.zeros((3, 2), int)) == {"micro_f1": 0.0}


@pytest.mark.parametrize("measure", [lambda predictions, labels: 1.0, functools.partial(max, 1)])
def test_metric_without_a_name_is_refused(measure):
    with pytest.raises(ConfigError, match="has no name of its own; define a function with `def`"):
        metrics.register_metric(measure)
