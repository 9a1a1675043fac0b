"""From logits to evaluations and verdicts, on answers small enough to count by hand."""

from pathlib import Path

import numpy as np
import pytest

from litebert.tasks.labelled_data import ChoiceExample, Example, LabelledData, TaggedExample
from litebert.tasks.task_type import Task
from litebert.tasks.types import predictions as answers
from litebert.tasks.types.registry import KINDS


def evaluated(tokenizer, kind, examples, labels, outputs):
    data = LabelledData(Path("x"), kind, tuple(examples), labels, "")
    row = KINDS[kind]
    task = Task(
        kind=kind, text=("t",), label="y", labels=labels, metrics=row.metrics, metric_for_best_model=row.metrics[0]
    )
    encoded = row.encode(examples, tokenizer, max_length=48)
    given = (task, [np.array(each, np.float32) for each in outputs], data, encoded)
    return row.evaluate(*given), row.judge(*given)


def test_classes_get_metrics_interval_confusion_calibration_and_slices(tiny_tokenizer):
    targets, slices = (0, 1, 0, 0), ("a", "a", "b", None)
    examples = [Example("the film " * n, None, y, None, s) for n, (y, s) in enumerate(zip(targets, slices), start=1)]
    logits = [[2.0, 1], [0, 1], [0, 1], [3, 0]]
    evaluation, verdicts = evaluated(tiny_tokenizer, "classification", examples, ("n", "p"), logits)
    assert evaluation.metrics == {"accuracy": 0.75}
    assert evaluation.confusion_matrix == [[2, 1], [0, 1]]
    assert evaluation.accuracy_interval[0] < 0.75 < evaluation.accuracy_interval[1]
    assert {part.name: (part.examples, part.metrics["accuracy"]) for part in evaluation.by_slice} == {
        "a": (2, 1.0),
        "b": (1, 0.0),
    }
    assert sum(part.examples for part in evaluation.by_length) == 4
    assert sum(one.examples for one in evaluation.calibration.bins) == 4
    assert [verdict.right for verdict in verdicts] == [True, True, False, True]
    assert verdicts[2].loss == pytest.approx(-np.log(1 / (1 + np.e)))
    assert (verdicts[2].expected, verdicts[2].predicted) == ("n (0.269)", "p (0.731)")
    lines = evaluation.to_text().splitlines()
    assert lines[0].startswith("accuracy 0.7500 on 4 rows (accuracy, 95 % interval: ")
    assert lines[1:] == ["     accuracy  rows", "  a    1.0000     2", "  b    0.0000     1"]


def test_options_are_classes_called_by_letters(tiny_tokenizer):
    examples = [ChoiceExample("t", "q", ("x", "y"), n, slice="high") for n in (0, 1)]
    evaluation, verdicts = evaluated(tiny_tokenizer, "multiple_choice", examples, None, [[1, 0], [1, 0]])
    assert (evaluation.metrics, evaluation.labels) == ({"accuracy": 0.5}, ("A", "B"))
    assert verdicts[1].shown == "t\nq\nA. x\nB. y"


def test_scores_have_no_classes(tiny_tokenizer):
    examples = [Example("a", "b", score) for score in (1.0, 2.0, 4.0)]
    evaluation, verdicts = evaluated(tiny_tokenizer, "regression", examples, None, [[1.0], [2.0], [3.0]])
    assert set(evaluation.metrics) == {"pearson", "spearman"}
    assert (evaluation.accuracy_interval, evaluation.confusion_matrix, evaluation.labels) == (None, None, None)
    assert evaluation.to_text() == "pearson 0.9820, spearman 1.0000 on 3 rows"
    assert [verdict.loss for verdict in verdicts] == [0, 0, 1]
    assert verdicts[2].shown == "a\nb"


def test_sets_of_labels_are_scored_together_and_by_label(tiny_tokenizer):
    examples = [Example("a", None, (1.0, 0.0)), Example("b", None, (1.0, 1.0))]
    evaluation, verdicts = evaluated(tiny_tokenizer, "multi_label", examples, ("x", "y"), [[2, -1], [3, -2]])
    assert evaluation.metrics["micro_f1"] == pytest.approx(4 / 5)
    assert [(part.name, part.examples, part.metrics["f1"]) for part in evaluation.by_label] == [
        ("x", 2, 1),
        ("y", 1, 0),
    ]
    assert (verdicts[1].expected, verdicts[1].predicted, verdicts[1].right) == ("x, y", "x", False)
    assert verdicts[1].loss == pytest.approx(np.log1p(np.exp(-3)) + np.log1p(np.exp(2)))


def test_tags_are_scored_by_entities_and_by_type(tiny_tokenizer):
    labels = ("O", "B-X", "B-Y")
    examples = [TaggedExample(("the", "film"), (0, 1)), TaggedExample(("music",), (2,))]
    encoded = KINDS["tokens"].encode(examples, tiny_tokenizer, max_length=48)
    outputs = [np.eye(3)[np.array([0] * int(length))] for length in encoded.lengths]
    outputs[0][encoded.parts[0].firsts[1]] = np.eye(3)[1]
    evaluation, verdicts = evaluated(tiny_tokenizer, "tokens", examples, labels, outputs)
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
    assert (verdicts[1].shown, verdicts[1].expected, verdicts[1].predicted) == ("music", "Y: music", "(none)")
    assert [verdict.loss for verdict in verdicts] == [0, 1]


def test_softmax_survives_large_logits():
    np.testing.assert_allclose(answers.softmax(np.array([[1000.0, 1000.0], [0.0, -1000.0]])), [[0.5, 0.5], [1, 0]])
