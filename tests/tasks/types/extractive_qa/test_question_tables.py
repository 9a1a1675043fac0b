"""Questions in tables."""

import json

import pytest

from litebert.errors import DataError
from litebert.tasks.questions import GoldAnswer
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import read_table
from litebert.tasks.types.extractive_qa.question_tables import (
    QuestionColumns,
    has_questions,
    question_columns,
    read_question_inputs,
    read_question_table,
)

CONTEXT = "The film was good, in 1999."


def table(tmp_path, *rows, ending=".jsonl"):
    path = tmp_path / f"own{ending}"
    if ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        separator = {".csv": ",", ".tsv": "\t"}[ending]
        lines = [separator.join(rows[0]), *(separator.join(f"{value}" for value in row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_table(path)


def row(answer="good", **others):
    return {"question": "How was it?", "context": CONTEXT, "answer": answer, **others}


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_question_table_is_read_from_every_format(ending, tmp_path):
    rows = table(tmp_path, {**row(), "context": "The film was good"}, ending=ending)
    (question,) = read_question_table(rows, question_columns(rows, Columns())).values()
    assert question.answers == (GoldAnswer(text="good", start=13),)
    assert question.id == "1" if ending == ".jsonl" else "2", "the line of the file"


def test_question_columns_have_default_names(tmp_path):
    assert question_columns(table(tmp_path, row()), Columns()) == QuestionColumns()
    full = table(tmp_path, row(answer_start=13, id="a"))
    assert question_columns(full, Columns()) == QuestionColumns(answer_start="answer_start", id="id")
    assert has_questions(full)
    assert not has_questions(table(tmp_path, {"text": "a", "label": "b"}))


def test_question_columns_that_are_named_override_the_defaults(tmp_path):
    rows = table(tmp_path, {"q": "How?", "context": CONTEXT, "answer": "good", "text": "x", "label": "y"})
    assert question_columns(rows, Columns(text="q", slice="text")) == QuestionColumns(question="q", slice="text")
    named = question_columns(rows, Columns(text="text", text_pair="q", label="label", group="text"))
    assert named == QuestionColumns(question="text", context="q", answer="label", group="text")


@pytest.mark.parametrize(
    ("there", "question", "answer"),
    [
        (("question", "answer"), "question", "answer"),
        (("question", "text", "answer", "label"), "question", "answer"),
        (("text", "label"), "text", "label"),
        ((), "question", "answer"),
    ],
)
def test_question_columns_prefer_the_names_of_questions_to_those_of_texts(tmp_path, there, question, answer):
    rows = table(tmp_path, dict.fromkeys(("context", *there), "x"))
    assert question_columns(rows, Columns()) == QuestionColumns(question=question, answer=answer)


def test_question_table_reads_groups_slices_and_starts(tmp_path):
    rows = table(tmp_path, {"q": "How?", "c": CONTEXT, "a": "good", "s": 14, "who": "me", "year": 1999, "name": "n1"})
    names = {"question": "q", "context": "c", "answer": "a", "answer_start": "s", "id": "name"}
    (question,) = read_question_table(rows, QuestionColumns(**names, group="who", slice="year")).values()
    assert (question.id, question.group, question.slice) == ("n1", "me", "1999")
    assert question.answers[0].start == 13, "off by one, corrected"


def test_question_table_reads_starts_that_a_data_frame_has_made_floats(tmp_path):
    rows = table(tmp_path, row(id="a", answer_start=13.0), row("", id="b", answer_start=None))
    first, second = read_question_table(rows, QuestionColumns(answer_start="answer_start", id="id")).values()
    assert (first.answers[0].start, second.answers) == (13, ())


def test_question_table_with_an_empty_answer_has_no_answer(tmp_path):
    (question,) = read_question_table(table(tmp_path, row("")), QuestionColumns()).values()
    assert question.answers == ()


def test_question_inputs_need_no_answer_column(tmp_path):
    (question,) = read_question_inputs(table(tmp_path, {"question": "How?", "context": CONTEXT}), QuestionColumns())
    assert question.answers == ()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (row("bad"), r":2: field 'answer_start': the answer 'bad' is not in the context"),
        (row(answer_start=""), r":2: field 'answer_start': expected a whole number from 0, found ''"),
        (row(answer_start=1.5), r":2: field 'answer_start': expected a whole number from 0, found '1.5'"),
        (row(answer_start=-2), r":2: field 'answer_start': expected a whole number from 0, found '-2'"),
        (row(context=" "), r":2: field 'context': blank"),
        (row(id="a"), r":2: field 'id': the id 'a' is also that of line 1"),
    ],
)
def test_question_table_errors_name_line_and_field(second, message, tmp_path):
    rows = table(tmp_path, row(answer_start=13, id="a"), {"answer_start": 13, "id": "b"} | second)
    with pytest.raises(DataError, match=message):
        read_question_table(rows, question_columns(rows, Columns()))


def test_question_table_skips_invalid_answers_but_not_all(tmp_path):
    rows = table(tmp_path, row(), row("bad"))
    assert [
        question.id for question in read_question_table(rows, QuestionColumns(), invalid_answers="skip").values()
    ] == ["1"]
    with pytest.raises(DataError, match="has no valid question"):
        read_question_table(table(tmp_path, row("bad")), QuestionColumns(), invalid_answers="skip")
