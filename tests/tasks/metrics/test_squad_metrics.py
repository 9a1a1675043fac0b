"""Exact match and F1, as the official scripts count."""

import json
import os
import string
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.metrics.squad_metrics import (
    answer_exact_match,
    answer_f1,
    as_scored,
    exact_match,
    normalize_answer,
    percent,
    score_answerable,
    score_with_unanswerable,
    word_f1,
)
from litebert.tasks.questions import GoldAnswer, Question
from litebert.tasks.types.extractive_qa.squad_json import read_squad
from support.data.question_builders import QUESTIONS

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
def test_normalize_answer_removes_case_punctuation_and_articles(text, normal):
    assert normalize_answer(text) == normal


@given(WORDS)
def test_normalize_answer_is_idempotent(text):
    assert normalize_answer(normalize_answer(text)) == normalize_answer(text)
    assert not set(normalize_answer(text)) & set(string.punctuation)


@given(WORDS, WORDS)
def test_word_f1_is_symmetric_and_1_for_exact_matches(first, second):
    assert word_f1(first, second) == word_f1(second, first)
    assert 0 <= word_f1(first, second) <= 1
    if exact_match(first, second):
        assert word_f1(first, second) == 1


def test_word_f1_counts_repeated_words():
    assert word_f1("red red blue", "red blue blue") == pytest.approx(2 / 3)
    assert word_f1("red", "green") == 0


def test_answerable_score_is_the_best_over_the_answers():
    scores = score_answerable(QUESTIONS[:3], {"q1": "old actor", "q2": "1999", "q3": "first play"})
    assert scores.exact == {"q1": 1, "q2": 0, "q3": 0}
    assert scores.f1 == {"q1": 1, "q2": 0, "q3": pytest.approx(0.8)}


def test_answerable_score_of_a_missing_prediction_is_zero():
    scores = score_answerable(QUESTIONS[:1], {})
    assert (scores.exact, scores.f1) == ({"q1": 0}, {"q1": 0.0})


def test_unanswerable_score_rejects_a_missing_prediction():
    predictions = {"q1": "The old actor", "q2": "2024", "q3": "", "q4": ""}
    assert score_with_unanswerable(QUESTIONS, predictions).exact == {"q1": 1, "q2": 1, "q3": 0, "q4": 1}
    with pytest.raises(DataError, match="1 of 4 questions have no prediction, such as 'q4'"):
        score_with_unanswerable(QUESTIONS, dict.fromkeys(("q1", "q2", "q3"), ""))


def test_answer_f1_scores_as_squad_2_if_a_question_is_unanswerable():
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


SQUAD = Path(os.environ.get("LITEBERT_TEST_DATA", "nowhere")) / "squad"


@pytest.mark.skipif(not SQUAD.exists(), reason="LITEBERT_TEST_DATA names no directory with squad/predictions")
@pytest.mark.parametrize(
    ("name", "dev", "exact"),
    [
        ("logreg-v1.1.json", "dev-v1.1.json", "exact_match"),
        ("rnet-ensemble-v1.1.json", "dev-v1.1.json", "exact_match"),
        ("bert-single-v2.0.json", "dev-v2.0.json", "exact"),
    ],
)
def test_squad_metrics_equal_the_official_scripts(name, dev, exact):
    expected = json.loads((SQUAD / "predictions" / "expected_scores.json").read_text(encoding="utf-8"))[name]
    predictions = json.loads((SQUAD / "predictions" / name).read_text(encoding="utf-8"))
    score = score_answerable if exact == "exact_match" else score_with_unanswerable
    scores = score(read_squad(SQUAD / dev), predictions)
    assert percent(scores.exact.values()) == expected[exact]
    assert percent(scores.f1.values()) == expected["f1"]


@pytest.mark.skipif(not SQUAD.exists(), reason="LITEBERT_TEST_DATA names no directory with squad/predictions")
def test_answerable_questions_of_squad_2_have_the_scores_of_the_official_script():
    name = "bert-single-v2.0.json"
    expected = json.loads((SQUAD / "predictions" / "expected_scores.json").read_text(encoding="utf-8"))[name]
    predictions = json.loads((SQUAD / "predictions" / name).read_text(encoding="utf-8"))
    questions = read_squad(SQUAD / "dev-v2.0.json")
    pairs = zip(questions, as_scored(questions), strict=True)
    answerable = [scored for question, scored in pairs if question.answers]
    texts = [predictions[question.id] for question in answerable]
    assert answer_exact_match(texts, answerable) == expected["HasAns_exact"]
    assert answer_f1(texts, answerable) == expected["HasAns_f1"]


def question_with(answers):
    return Question(id=f"{next(NUMBERS)}", text="", context="", answers=answers)


NUMBERS = count()
ANSWERS = st.lists(st.sampled_from([".", "the", "Red army", "army", "1,000"]), max_size=3)


@given(st.lists(st.tuples(ANSWERS, WORDS), min_size=1, max_size=5))
def test_each_question_is_scored_alone_as_among_all(rows):
    """The answer "." has no words: SQuAD 2.0 leaves it out, but alone, as in SQuAD 1.1, "" would equal it."""
    golds = [tuple(GoldAnswer(text=text, start=0) for text in texts) for texts, _ in rows]
    questions = [question_with(answers) for answers in [*golds, ()]]
    texts = [*(text for _, text in rows), "x"]
    scored = as_scored(questions)
    alone = [answer_exact_match([text], [question]) for text, question in zip(texts, scored, strict=True)]
    assert sum(alone) / len(alone) == pytest.approx(answer_exact_match(texts, questions))


def test_questions_that_all_have_answers_are_scored_as_they_are():
    questions = [question_with((GoldAnswer(text=".", start=0),))]
    assert as_scored(questions) == questions
    assert answer_exact_match([""], questions) == 100


def test_answer_f1_needs_a_prediction_for_each_question():
    with pytest.raises(ValueError, match="shorter"):
        answer_f1(["The old actor"], QUESTIONS[:2])
