"""Questions: whether they are all answered decides the kind."""

import pytest

from litebert.errors import DataError
from support.question_builders import CONTEXT, QUESTIONS, labelled, question


def test_the_span_of_an_answer_slices_it_from_the_context():
    for each in QUESTIONS:
        for answer in each.answers:
            start, end = answer.span
            assert CONTEXT[start:end] == answer.text


def test_a_question_without_an_answer_makes_the_file_one_of_answerability():
    assert labelled().kind == "answerability"
    assert "1 of 4 questions" in labelled().reason
    assert labelled(QUESTIONS[:3]).kind == "spans"


def test_a_kind_that_is_asked_for_is_kept():
    assert labelled(QUESTIONS[:3], "answerability").kind == "answerability"


def test_spans_refuse_a_question_without_an_answer():
    with pytest.raises(DataError, match=r"films\.json: question 'q4' and 0 others have no answer"):
        labelled(kind="spans")


def test_questions_about_one_text_stay_together_unless_they_have_a_group():
    assert QUESTIONS[0].key == QUESTIONS[1].key
    assert question("q", "Who?", group="a").key == "a"
