"""The prediction files of SQuAD."""

import json

from litebert.tasks.types.extractive_qa.span_scores import NO_SPAN, Answer, SpanAnswer
from litebert.tasks.types.extractive_qa.squad_json import N_BEST, NULL_ODDS, PREDICTIONS, write_squad_predictions
from support.data.question_builders import QUESTIONS

SPAN = SpanAnswer("2024", 3, 7, probability=0.75, start_score=2.0, end_score=1.0)


def read(directory, name):
    return json.loads((directory / name).read_text(encoding="utf-8"))


def test_squad_files_of_a_model_with_no_answer(tmp_path):
    answers = [Answer("2024", 3, 7, 0.75, -1.0, (SPAN,)), Answer("", 0, 0, 0.0, 2.0, (SPAN, NO_SPAN))]
    write_squad_predictions(tmp_path, QUESTIONS[:2], answers)
    assert read(tmp_path, PREDICTIONS) == {"q1": "2024", "q2": ""}
    assert read(tmp_path, NULL_ODDS) == {"q1": -1.0, "q2": 2.0}
    candidates = read(tmp_path, N_BEST)["q2"]
    assert candidates[0] == {"text": "2024", "probability": 0.75, "start_log_prob": 2.0, "end_log_prob": 1.0}
    assert [each["text"] for each in candidates] == ["2024", ""]


def test_squad_files_of_a_model_that_always_answers_have_no_null_odds(tmp_path):
    write_squad_predictions(tmp_path, QUESTIONS[:1], [Answer("2024", 3, 7, 0.75, None, (SPAN,))])
    assert read(tmp_path, PREDICTIONS) == {"q1": "2024"}
    assert not (tmp_path / NULL_ODDS).exists()
