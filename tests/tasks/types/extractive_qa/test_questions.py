"""Questions, and the task type that they make a file."""

import pytest

from litebert.errors import DataError
from litebert.tasks.labelled_data import normalized_text
from support.data.question_builders import CONTEXT, QUESTIONS, labelled


def test_gold_answer_span_slices_its_text_from_the_context():
    for each in QUESTIONS:
        for answer in each.answers:
            start, end = answer.span
            assert CONTEXT[start:end] == answer.text


def test_qa_task_type_is_no_answer_if_a_question_has_no_answer():
    assert labelled().task_type == "extractive_qa_no_answer"
    assert "1 of 4 questions" in labelled().reason
    assert labelled(QUESTIONS[:3]).task_type == "extractive_qa"


def test_qa_task_type_that_is_set_is_used():
    assert labelled(QUESTIONS[:3], "extractive_qa_no_answer").task_type == "extractive_qa_no_answer"


def test_extractive_qa_rejects_a_question_without_an_answer():
    with pytest.raises(DataError, match=r"films\.json: question 'q4' and 0 others have no answer"):
        labelled(task_type="extractive_qa")


def test_question_split_key_is_its_context():
    assert QUESTIONS[0].split_key == QUESTIONS[1].split_key == normalized_text(CONTEXT)
