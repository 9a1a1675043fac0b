"""Prediction files in the original's form."""

import json

from litebert.tasks.types.span_answers import NO_SPAN, QuestionAnswers, SpanAnswer
from litebert.tasks.types.squad_files import N_BEST, NULL_ODDS, PREDICTIONS, write_predictions
from support.question_builders import QUESTIONS

ANSWER = SpanAnswer("2024", 3, 7, probability=0.75, start_score=2.0, end_score=1.0)


def read(directory, name):
    return json.loads((directory / name).read_text(encoding="utf-8"))


def test_files_of_a_model_that_may_not_answer(tmp_path):
    answers = [QuestionAnswers((ANSWER,), -1.0), QuestionAnswers((ANSWER, NO_SPAN), 2.0)]
    write_predictions(tmp_path, QUESTIONS[:2], answers, threshold=0.0)
    assert read(tmp_path, PREDICTIONS) == {"q1": "2024", "q2": ""}
    assert read(tmp_path, NULL_ODDS) == {"q1": -1.0, "q2": 2.0}
    listed = read(tmp_path, N_BEST)["q2"]
    assert listed[0] == {"text": "2024", "probability": 0.75, "start_log_prob": 2.0, "end_log_prob": 1.0}
    assert [each["text"] for each in listed] == ["2024", ""]


def test_a_model_that_always_answers_has_no_odds(tmp_path):
    write_predictions(tmp_path, QUESTIONS[:1], [QuestionAnswers((ANSWER,), None)], threshold=0.0)
    assert read(tmp_path, PREDICTIONS) == {"q1": "2024"}
    assert not (tmp_path / NULL_ODDS).exists()
