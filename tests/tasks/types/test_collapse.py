"""Detection of collapsed runs."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.metrics.evaluation import Evaluation, Part
from litebert.tasks.metrics.metrics import confusion_matrix
from litebert.tasks.types.classification.classification import chance_variance, matthews_of_confusion
from litebert.tasks.types.registry import get_task_type, task_types
from support.models.tolerances import tolerance


def classes(*rows):
    names = ("bad", "good", "middling")[: len(rows)]
    return Evaluation(
        metrics={}, examples=sum(map(sum, rows)), labels=names, confusion_matrix=[list(row) for row in rows]
    )


def scores(pearson, examples=400):
    return Evaluation(metrics={"pearson": pearson, "spearman": pearson - 0.01}, examples=examples)


def labels(*figures):
    parts = (Part(str(index), 10, {"f1": figure}) for index, figure in enumerate(figures))
    return Evaluation(metrics={}, examples=10, by_label=tuple(parts))


def questions(figure):
    return Evaluation(metrics={"answer_f1": figure, "exact_match": 0.0}, examples=10)


def perhaps(answered):
    """Half of the questions have no answer, which the model always says."""
    parts = (
        Part("with an answer", 5, {"answer_f1": answered, "exact_match": 0.0}),
        Part("without an answer", 5, {"answer_f1": 100.0, "exact_match": 100.0}),
    )
    metrics = {"answer_f1": 50.0, "exact_match": 50.0, "no_answer_threshold": 3.0}
    return Evaluation(metrics=metrics, examples=10, by_slice=parts)


CASES = {
    "classification": (classes((0, 40), (0, 60)), "predicts 'good' for every example", classes((30, 10), (10, 50))),
    "multiple_choice": (
        classes((25, 25), (24, 26)),
        r"at chance level \(Matthews correlation 0.020, which chance reaches on 100 examples\)",
        classes((40, 10, 5), (5, 40, 5), (9, 1, 30)),
    ),
    "pronoun_resolution": (classes((40, 0), (31, 0)), "predicts 'bad' for every example", classes((35, 5), (9, 22))),
    "regression": (
        scores(0.0),
        r"at chance level \(pearson 0.000, which chance reaches on 400 examples\)",
        scores(0.5),
    ),
    "multi_label": (labels(0.0, 0.0), "predicts no label correctly", labels(0.0, 0.1)),
    "token_classification": (labels(0.0), "predicts no label correctly", labels(0.3)),
    "extractive_qa": (questions(0.4), r"finds no answer \(0.40 %", questions(8.0)),
    "extractive_qa_no_answer": (perhaps(0.0), r"finds no answer \(0.00 %", perhaps(12.0)),
}


def test_every_task_type_has_a_collapse_case():
    assert set(CASES) == {each.name for each in task_types()}


@pytest.mark.parametrize(("name", "collapsed", "message", "learned"), [(name, *case) for name, case in CASES.items()])
def test_collapse_is_detected_for_every_task_type(name, collapsed, message, learned):
    collapse = get_task_type(name).collapse
    assert collapse(learned) is None
    reason = collapse(collapsed)
    assert reason is not None
    assert re.search(message, reason)


def test_collapse_is_not_detected_for_a_rare_label():
    """95 % of the rows are bad, and the accuracy is below that; the model still knows good ones."""
    assert get_task_type("classification").collapse(classes((920, 30), (25, 25))) is None


@pytest.mark.parametrize("rows", [((60, 0), (0, 0)), ((55, 5), (0, 0)), ((0, 0), (60, 0))])
def test_collapse_is_not_decided_on_examples_of_one_class(rows):
    assert get_task_type("classification").collapse(classes(*rows)) is None


COUNTS = st.lists(st.integers(0, 50), min_size=9, max_size=9).map(lambda flat: [flat[:3], flat[3:6], flat[6:]])


@given(COUNTS)
def test_matthews_of_confusion_equals_scikit_learn(confusion):
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = [(t, p) for t, row in enumerate(confusion) for p, count in enumerate(row) for _ in range(count)]
    if len({t for t, _ in pairs}) > 1:
        expected = metrics.matthews_corrcoef(*zip(*pairs, strict=True))
        assert math.isclose(matthews_of_confusion(confusion), expected, abs_tol=tolerance(torch.float64, "compound"))


def test_the_no_answer_threshold_is_no_score_of_the_answers():
    """Where every question has an answer there is no slice of those that have one."""
    metrics = {"answer_f1": 0.1, "exact_match": 0.0, "no_answer_threshold": 3.0}
    evaluation = Evaluation(metrics=metrics, examples=10)
    assert get_task_type("extractive_qa_no_answer").collapse(evaluation).startswith("finds no answer (0.10 %")


def unrelated(rng, true, predicted, *, examples=500):
    """Counts of predictions that are drawn without regard to the labels."""
    drawn = [rng.choice(len(shares), size=examples, p=shares) for shares in (true, predicted)]
    return confusion_matrix(drawn[1], drawn[0], num_labels=len(true))


@pytest.mark.parametrize(
    ("true", "predicted"),
    [([0.5, 0.5], [0.9, 0.1]), ([0.1] * 10, [0.1] * 10), ([0.9, *[0.1 / 9] * 9], [0.9, *[0.1 / 9] * 9])],
)
def test_chance_exceeds_its_limit_in_one_case_of_forty(true, predicted):
    rng, found = np.random.default_rng(0), []
    for _ in range(2000):
        confusion = unrelated(rng, true, predicted)
        found.append(matthews_of_confusion(confusion) > 2 * math.sqrt(chance_variance(confusion) / 500))
    assert np.mean(found) == pytest.approx(1 / 40, abs=0.012)


def test_chance_variance_of_equally_frequent_labels_is_that_of_their_number():
    for count in (2, 3, 10):
        assert chance_variance(np.ones((count, count))) == pytest.approx(1 / (count - 1))


def test_collapse_is_not_detected_where_many_labels_are_known_above_chance():
    """An accuracy of 15 % where chance has 10 %."""
    confusion = np.full((10, 10), 850 / 90)
    np.fill_diagonal(confusion, 15)
    evaluation = Evaluation(metrics={}, examples=1000, labels=tuple("abcdefghij"), confusion_matrix=confusion.tolist())
    assert get_task_type("classification").collapse(evaluation) is None
