"""Predictions of every task type scored on examples that can be counted by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.evaluate.report_page import report_page
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import Example, LabelledData, Task
from litebert.tasks.metrics import metrics as metrics_module
from litebert.tasks.results import softmax
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.token_classification.token_examples import TokenExample


def evaluated(name, examples, labels, outputs, *, metrics=()):
    """The evaluation and the error examples of model outputs."""
    task_type, data = get_task_type(name), LabelledData(Path("x"), name, tuple(examples), labels, "")
    metrics = metrics or task_type.metrics
    task = Task(
        task_type=name, text=("t",), label="y", labels=labels, metrics=metrics, metric_for_best_model=metrics[0]
    )
    settings = InputSettings()
    predictions = [task_type.inference.predict(np.array(each, np.float32), settings, np.float32) for each in outputs]
    lengths = np.arange(1, len(examples) + 1)
    scored = task_type.evaluate(task, predictions, data, lengths, settings)
    return scored.evaluation, task_type.error_examples(task, predictions, data, scored)


def test_classification_evaluation_has_metrics_interval_confusion_and_slices():
    targets, slices = (0, 1, 0, 0), ("a", "a", "b", None)
    examples = [Example(text="x", target=y, slice=s) for y, s in zip(targets, slices, strict=True)]
    logits = [[2.0, 1], [0, 1], [0, 1], [3, 0]]
    evaluation, errors = evaluated("classification", examples, ("n", "p"), logits)
    assert evaluation.metrics == {"accuracy": 0.75}
    assert evaluation.confusion_matrix == [[2, 1], [0, 1]]
    assert evaluation.accuracy_interval[0] < 0.75 < evaluation.accuracy_interval[1]
    assert {part.name: (part.examples, part.metrics["accuracy"]) for part in evaluation.by_slice} == {
        "a": (2, 1.0),
        "b": (1, 0.0),
    }
    assert sum(part.examples for part in evaluation.by_length) == 4
    assert sum(one.examples for one in evaluation.calibration.bins) == 4
    assert [error.is_correct for error in errors] == [True, True, False, True]
    assert errors[2].loss == pytest.approx(-np.log(1 / (1 + np.e)))
    assert (errors[2].expected, errors[2].predicted) == ("n (0.269)", "p (0.731)")
    lines = evaluation.to_text().splitlines()
    assert lines[0].startswith("accuracy 0.7500 on 4 examples (accuracy, 95 % interval: ")
    assert lines[1:] == ["     accuracy  examples", "  a    1.0000         2", "  b    0.0000         1"]


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_classification_evaluation_by_label_equals_scikit_learn(seed, num_labels):
    sklearn = pytest.importorskip("sklearn.metrics")
    rng, names = np.random.default_rng(seed), tuple("abcde"[:num_labels])
    targets, logits = rng.integers(num_labels, size=20), rng.normal(size=(20, num_labels))
    logits[:, 0] -= rng.integers(3)  # a label that is rarely or never predicted
    evaluation, _ = evaluated("classification", [Example(text="x", target=int(y)) for y in targets], names, logits)
    table = sklearn.precision_recall_fscore_support(
        targets, logits.argmax(-1), labels=range(num_labels), zero_division=0.0
    )
    for part, name, *scores, count in zip(evaluation.by_label, names, *table, strict=True):
        assert (part.name, part.examples) == (name, count)
        assert part.metrics == pytest.approx(dict(zip(("precision", "recall", "f1"), scores, strict=True)))


def test_classification_report_has_a_line_for_each_label():
    examples = [Example(text="x", target=y) for y in (0, 1, 0, 0)]
    evaluation, _ = evaluated("classification", examples, ("n", "p"), [[2.0, 1], [0, 1], [0, 1], [3, 0]])
    assert evaluation.to_report().splitlines() == [
        evaluation.to_text(),
        "     precision  recall      f1  examples",
        "  n     1.0000  0.6667  0.8000         3",
        "  p     0.5000  1.0000  0.6667         1",
    ]


def test_multiple_choice_evaluation_names_options_by_letters():
    examples = [ChoiceExample(text="t", question="q", options=("x", "y"), target=n, slice="high") for n in (0, 1)]
    evaluation, errors = evaluated("multiple_choice", examples, None, [[1, 0], [1, 0]])
    assert (evaluation.metrics, evaluation.labels) == ({"accuracy": 0.5}, ("A", "B"))
    assert evaluation.by_label == ()
    assert errors[1].text == "t\nq\nA. x\nB. y"


def test_regression_evaluation_has_correlations_only():
    examples = [Example(text="a", text_pair="b", target=score) for score in (1.0, 2.0, 4.0)]
    evaluation, errors = evaluated("regression", examples, None, [[1.0], [2.0], [3.0]])
    assert set(evaluation.metrics) == {"pearson", "spearman"}
    assert (evaluation.accuracy_interval, evaluation.confusion_matrix, evaluation.labels) == (None, None, None)
    assert evaluation.to_text() == "pearson 0.9820, spearman 1.0000 on 3 examples"
    assert [error.loss for error in errors] == [0, 0, 1]
    assert errors[2].text == "a\nb"


def test_own_metric_is_measured_on_all_examples_and_not_on_parts(monkeypatch):
    def of_two(predictions, scores):
        assert len(predictions) > 1, "as a correlation"
        return 0.5

    monkeypatch.setattr(metrics_module, "METRICS", dict(metrics_module.METRICS))
    monkeypatch.setattr(metrics_module, "_OWN_METRICS", set())
    names = ("neg_mean_absolute_error", metrics_module.register_metric(of_two))
    examples = [Example(text="x", target=float(y), slice=s) for y, s in ((1, "a"), (2, "b"))]
    evaluation, _ = evaluated("regression", examples, None, [[1.0], [2.0]], metrics=names)
    assert evaluation.metrics == {"neg_mean_absolute_error": 0.0, "of_two": 0.5}
    assert [set(part.metrics) for part in evaluation.by_slice] == [{"neg_mean_absolute_error"}] * 2
    assert "of_two" in evaluation.to_text()
    alone, _ = evaluated("regression", examples, None, [[1.0], [2.0]], metrics=names[1:])
    assert alone.to_text().startswith("of_two 0.5000 on 2 examples")
    assert report_page("t", alone, [])


def test_multi_label_evaluation_is_overall_and_by_label():
    examples = [Example(text="a", target=(1.0, 0.0)), Example(text="b", target=(1.0, 1.0))]
    evaluation, errors = evaluated("multi_label", examples, ("x", "y"), [[2, -1], [3, -2]])
    assert evaluation.metrics["micro_f1"] == pytest.approx(4 / 5)
    assert [(part.name, part.examples, part.metrics) for part in evaluation.by_label] == [
        ("x", 2, {"precision": 1, "recall": 1, "f1": 1}),
        ("y", 1, {"precision": 0, "recall": 0, "f1": 0}),
    ]
    assert (errors[1].expected, errors[1].predicted, errors[1].is_correct) == (
        "x (0.953), y (0.119)",
        "x (0.953)",
        False,
    )
    assert errors[1].loss == pytest.approx(np.log1p(np.exp(-3)) + np.log1p(np.exp(2)))


def test_token_classification_evaluation_is_by_entities_and_their_types():
    labels = ("O", "B-X", "B-Y")
    examples = [TokenExample(words=("the", "film"), target=(0, 1)), TokenExample(words=("music",), target=(2,))]
    outputs = [[[9, 0, 0], [0, 9, 0]], [[9, 0, 0]]]
    evaluation, errors = evaluated("token_classification", examples, labels, outputs)
    assert evaluation.metrics == {
        "entity_f1": pytest.approx(2 / 3),
        "entity_precision": 1.0,
        "entity_recall": 0.5,
        "word_accuracy": pytest.approx(2 / 3),
    }
    assert [(part.name, part.examples, part.metrics["entity_f1"]) for part in evaluation.by_label] == [
        ("X", 1, 1.0),
        ("Y", 1, 0.0),
    ]
    assert (errors[1].text, errors[1].expected, errors[1].predicted) == ("music", "Y: music", "(none)")
    assert [error.loss for error in errors] == [0, 1]


def test_softmax_of_large_logits_does_not_overflow():
    np.testing.assert_allclose(softmax(np.array([[1000.0, 1000.0], [0.0, -1000.0]])), [[0.5, 0.5], [1, 0]])
