"""Runs that have learned nothing are recognised, whatever the kind; others are not."""

import math
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.sweep.collapse import collapse, correlation
from litebert.tasks.task_type import Kind


def classes(*rows):
    return {
        "labels": ["bad", "good", "middling"][: len(rows)],
        "confusion_matrix": [list(row) for row in rows],
        "examples": sum(map(sum, rows)),
        "metrics": {},
    }


def scores(pearson, examples=400):
    return {"metrics": {"pearson": pearson, "spearman": pearson - 0.01}, "examples": examples}


def labels(*figures):
    return {"by_label": [{"metrics": {"f1": figure}} for figure in figures]}


def questions(figure):
    return {"metrics": {"answer_f1": figure, "exact_match": 0.0}, "by_slice": []}


def perhaps(answered):
    """Half of the questions have no answer, which the model always says."""
    return {
        "metrics": {"answer_f1": 50.0, "exact_match": 50.0, "no_answer_threshold": 3.0},
        "by_slice": [
            {"name": "with an answer", "metrics": {"answer_f1": answered, "exact_match": 0.0}},
            {"name": "without an answer", "metrics": {"answer_f1": 100.0, "exact_match": 100.0}},
        ],
    }


CASES = {
    "classification": (classes((0, 40), (0, 60)), "answers 'good' to everything", classes((30, 10), (10, 50))),
    "multiple_choice": (
        classes((25, 25), (24, 26)),
        r"at chance \(Matthews correlation 0.020, chance reaches 0.200",
        classes((40, 10, 5), (5, 40, 5), (9, 1, 30)),
    ),
    "regression": (scores(0.0), r"at chance \(pearson 0.000, chance reaches 0.100\)", scores(0.5)),
    "multi_label": (labels(0.0, 0.0), "finds no label of any row", labels(0.0, 0.1)),
    "tokens": (labels(0.0), "finds no label of any row", labels(0.3)),
    "spans": (questions(0.4), r"finds no answer \(0.40 %", questions(8.0)),
    "answerability": (perhaps(0.0), r"finds no answer \(0.00 %", perhaps(12.0)),
}


def test_every_kind_has_a_case():
    assert set(CASES) == set(get_args(Kind))


@pytest.mark.parametrize(("kind", "collapsed", "message", "learned"), [(kind, *case) for kind, case in CASES.items()])
def test_what_learned_nothing_is_told_from_what_has(kind, collapsed, message, learned):
    assert collapse(kind, learned) is None
    reason = collapse(kind, collapsed)
    assert reason is not None
    assert re.search(message, reason)


def test_a_rare_label_does_not_make_a_model_look_collapsed():
    """95 % of the rows are bad, and the accuracy is below that; the model still knows good ones."""
    assert collapse("classification", classes((920, 30), (25, 25))) is None


COUNTS = st.lists(st.integers(0, 50), min_size=9, max_size=9).map(lambda flat: [flat[:3], flat[3:6], flat[6:]])


@given(COUNTS)
def test_the_correlation_is_that_of_scikit_learn(confusion):
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = [(t, p) for t, row in enumerate(confusion) for p, count in enumerate(row) for _ in range(count)]
    if len({t for t, _ in pairs}) > 1:
        expected = metrics.matthews_corrcoef(*zip(*pairs, strict=True))
        assert math.isclose(correlation(confusion), expected, abs_tol=1e-9)
