"""Evaluation of answers: perfect and imperfect predictions, thresholds, error examples."""

import numpy as np

from litebert.tasks.labelled_data import Task
from litebert.tasks.types.extractive_qa.extractive_qa import answer_errors, evaluate_answers
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.span_scores import SpanScores
from support.data.question_builders import CONTEXT, QUESTIONS, labelled

TASK = Task(
    task_type="extractive_qa_no_answer",
    text=("question", "context"),
    label="answers",
    labels=None,
    metrics=("answer_f1", "exact_match"),
    metric_for_best_model="answer_f1",
)


def correct_predictions(questions, null_scores):
    """The first answer of each question as its best span, or any span without one."""
    predictions = []
    for question, null_score in zip(questions, null_scores, strict=True):
        span = question.answers[0].span if question.answers else (0, 3)
        predictions.append(SpanScores(np.array([span, (4, 7)]), np.array([[5.0, 5.0], [1.0, 1.0]]), null_score))
    return predictions


def evaluated(null_scores, questions=QUESTIONS, **settings):
    predictions = correct_predictions(questions, null_scores)
    data = labelled(questions)
    lengths = np.full(len(questions), len(CONTEXT))
    scored = evaluate_answers(TASK, predictions, data, lengths, QuestionSettings(**settings))
    return scored, answer_errors(TASK, predictions, data, scored)


def test_answer_evaluation_of_perfect_predictions_is_100_percent():
    scored, errors = evaluated([None] * 3, QUESTIONS[:3])
    assert scored.evaluation.metrics == {"answer_f1": 100, "exact_match": 100}
    assert scored.evaluation.examples == 3
    assert scored.evaluation.by_slice == ()
    assert all(error.is_correct and error.loss == 0 for error in errors)


def test_answer_evaluation_chooses_the_best_threshold():
    evaluation = evaluated([-3.0, -1.0, 2.5, 4.0])[0].evaluation
    assert evaluation.metrics["answer_f1"] == evaluation.metrics["best_f1"] == 100
    assert evaluation.metrics["no_answer_threshold"] == 3.25
    assert evaluation.metrics["best_f1_thresh"] == 2.5
    assert [(part.name, part.examples) for part in evaluation.by_slice] == [
        ("with an answer", 3),
        ("without an answer", 1),
    ]


def test_answer_evaluation_uses_the_threshold_of_the_settings():
    metrics = evaluated([-3.0, -1.0, 2.5, 4.0], no_answer_threshold=0.0)[0].evaluation.metrics
    assert metrics["answer_f1"] == 75
    assert (metrics["no_answer_threshold"], metrics["best_f1_thresh"]) == (0.0, 2.5)


def test_answer_errors_show_expected_and_predicted_answers():
    _, errors = evaluated([-3.0, -1.0, 2.5, 4.0], no_answer_threshold=0.0)
    assert [error.is_correct for error in errors] == [True, True, False, True]
    assert errors[2].expected == "Her first play"
    assert errors[2].predicted.startswith("(no answer)")
    assert errors[3].expected == "(no answer)"
    assert errors[2].loss > 1 > errors[0].loss
