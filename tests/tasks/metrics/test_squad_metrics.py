"""Exact match and F1, as the official scripts count."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.metrics.squad_metrics import (
    answer_exact_match,
    answer_f1,
    evaluate_answerable,
    evaluate_with_unanswerable,
    exact_match,
    normalize_answer,
    percent,
    word_f1,
)
from litebert.tasks.readers.squad_json import read_squad
from support.question_builders import QUESTIONS

WORDS = st.lists(st.sampled_from(["the", "a", "An", "Red", "army,", "1,000", "%", ""]), max_size=5).map(" ".join)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Red-Army!", "redarmy"),
        ("a man, AN apple", "man apple"),
        ("theatre and a", "theatre and"),
        ("l’eau “quoted”", "l’eau “quoted”"),
        ("$1,000.50", "100050"),
        ("the", ""),
    ],
)
def test_normal_form(text, normal):
    assert normalize_answer(text) == normal


@given(WORDS)
def test_normalising_is_done_once(text):
    assert normalize_answer(normalize_answer(text)) == normalize_answer(text)
    assert not set(normalize_answer(text)) & set(string.punctuation)


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_1_for_what_matches(first, second):
    assert word_f1(first, second) == word_f1(second, first)
    assert 0 <= word_f1(first, second) <= 1
    if exact_match(first, second):
        assert word_f1(first, second) == 1


def test_f1_counts_repeated_words_once_each():
    assert word_f1("red red blue", "red blue blue") == pytest.approx(2 / 3)
    assert word_f1("red", "green") == 0


def test_the_best_of_the_answers_counts():
    figures = evaluate_answerable(QUESTIONS[:3], {"q1": "old actor", "q2": "1999", "q3": "first play"})
    assert figures["exact_match"] == pytest.approx(100 / 3)
    assert figures["f1"] == pytest.approx(100 / 3 * (1 + 0.8))


def test_1_1_gives_nothing_to_a_missing_prediction_and_to_words_that_vanish():
    assert evaluate_answerable(QUESTIONS[:1], {}) == {"exact_match": 0.0, "f1": 0.0}


def test_2_0_reports_both_parts_and_refuses_a_missing_prediction():
    right = {"q1": "The old actor", "q2": "2024", "q3": "", "q4": ""}
    figures = evaluate_with_unanswerable(QUESTIONS, right)
    assert figures["exact"] == figures["f1"] == 75
    assert (figures["HasAns_total"], figures["NoAns_total"], figures["total"]) == (3, 1, 4)
    assert figures["NoAns_exact"] == 100
    assert "NoAns_exact" not in evaluate_with_unanswerable(QUESTIONS[:3], right)
    with pytest.raises(DataError, match="1 of 4 questions have no prediction, such as 'q4'"):
        evaluate_with_unanswerable(QUESTIONS, dict.fromkeys(("q1", "q2", "q3"), ""))


def test_the_questions_decide_which_script_counts():
    texts = ["The old actor", "2024", "first play", "x"]
    assert answer_f1(texts, QUESTIONS) == pytest.approx(70)
    assert answer_f1(texts[:3], QUESTIONS[:3]) == pytest.approx(100 / 3 * 2.8)
    assert answer_exact_match(texts, QUESTIONS) == 50


def test_percent_adds_in_order_without_compensation():
    values = [0.1] * 10
    total = 0.0
    for value in values:
        total += value
    assert percent(values) == 100.0 * total / 10


SQUAD = Path(__file__).parents[4] / "data" / "squad"


@pytest.mark.skipif(not SQUAD.exists(), reason="needs the official files in ../data/squad")
@pytest.mark.parametrize(
    ("name", "dev", "evaluate"),
    [
        ("logreg-v1.1.json", "dev-v1.1.json", evaluate_answerable),
        ("rnet-ensemble-v1.1.json", "dev-v1.1.json", evaluate_answerable),
        ("bert-single-v2.0.json", "dev-v2.0.json", evaluate_with_unanswerable),
    ],
)
def test_official_predictions_score_what_the_official_scripts_say(name, dev, evaluate):
    expected = json.loads((SQUAD / "predictions" / "expected_scores.json").read_text(encoding="utf-8"))[name]
    predictions = json.loads((SQUAD / "predictions" / name).read_text(encoding="utf-8"))
    assert evaluate(read_squad(SQUAD / dev).examples, predictions) == expected
