"""SQuAD files: everything that can be wrong is refused with file, question and field."""

import copy

import pytest

from litebert.errors import DataError
from litebert.tasks.types.extractive_qa.squad_json import (
    has_answers,
    read_squad,
    read_squad_questions,
    squad_part,
)
from support.data.question_builders import CONTEXT, QUESTIONS, squad_json, write_squad


def edited(change):
    """A right file with one thing changed."""
    content = copy.deepcopy(squad_json(*QUESTIONS))
    change(content, content["data"][0]["paragraphs"][0])
    return content


def test_squad_json_is_read_in_order(tmp_path):
    assert read_squad(write_squad(tmp_path / "dev.json", squad_json(*QUESTIONS))) == QUESTIONS


def test_squad_1_1_json_needs_no_is_impossible(tmp_path):
    content = squad_json(*QUESTIONS[:3])
    for question in content["data"][0]["paragraphs"][0]["qas"]:
        del question["is_impossible"]
    assert read_squad(write_squad(tmp_path / "dev.json", content)) == QUESTIONS[:3]


def test_squad_json_may_have_a_byte_order_mark(tmp_path):
    path = write_squad(tmp_path / "dev.json", squad_json(*QUESTIONS))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_squad(path)) == 4


def test_squad_questions_need_no_answers(tmp_path):
    content = edited(lambda file, paragraph: [each.pop("answers") for each in paragraph["qas"]])
    found = read_squad_questions(write_squad(tmp_path / "test.json", content))
    assert [(each.id, each.answers) for each in found] == [(each.id, ()) for each in QUESTIONS]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda question: None, True),
        (lambda question: question.update(answers=[], is_impossible=True), True),
        (lambda question: question.update(answers=[], is_impossible=False), False),
        (lambda question: [question.pop("answers"), question.pop("is_impossible")], False),
    ],
)
def test_file_has_answers_where_a_question_has_one_or_none_by_intent(tmp_path, change, expected):
    content = edited(lambda file, paragraph: [change(each) for each in paragraph["qas"]])
    content["data"][0]["paragraphs"][0]["context"] += ' It says "answers" and "is_impossible".'
    assert has_answers(write_squad(tmp_path / "dev.json", content)) is expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "good", "label": 1}]', "rows.json: expected an object with 'data', found list"),
        ('{"text": {"0": "good"}, "label": {"0": 1}}', "rows.json: field 'data': missing"),
        ('{"data": [{"text": "good", "label": 1}]}', r"rows.json: data\[0\]: field 'paragraphs': missing"),
        ('{"text": "good"}\n{"text": "bad"}\n', r"rows.json:2: not valid JSON \(Extra data, column 1\)"),
    ],
)
def test_rows_in_a_json_file_are_told_to_be_json_lines(tmp_path, content, message):
    (tmp_path / "rows.json").write_text(content)
    with pytest.raises(DataError, match=rf"{message}; .* SQuAD; save rows as JSON lines \(\.jsonl\)"):
        read_squad(tmp_path / "rows.json")


Q1 = r"question 'q1': "
BAD = {
    "no data": (lambda file, _: file.pop("data"), r"field 'data': missing"),
    "data of another kind": (lambda file, _: file.update(data={}), r"field 'data': expected a list, found dict"),
    "an article that is a list": (
        lambda file, _: file.update(data=[[]]),
        r"data\[0\]: expected an object",
    ),
    "no paragraphs": (lambda file, _: file["data"][0].pop("paragraphs"), r"data\[0\]: field 'paragraphs': missing"),
    "a misspelt field": (
        lambda file, paragraph: paragraph.update(qa=paragraph.pop("qas")),
        r"paragraphs\[0\]: field 'qas': missing \(did you mean 'qa'\?\)",
    ),
    "a blank context": (lambda _, paragraph: paragraph.update(context=" \n"), r"field 'context': blank"),
    "a context that is a number": (lambda _, paragraph: paragraph.update(context=3), r"expected a text, found int"),
    "half of a surrogate pair": (lambda _, paragraph: paragraph.update(context="\ud800"), r"surrogate pair"),
    "an id that is a number": (
        lambda _, paragraph: paragraph["qas"][0].update(id=7),
        r"qas\[0\]: field 'id': expected a text, found int",
    ),
    "the same id twice": (
        lambda _, paragraph: paragraph["qas"][2].update(id="q1"),
        Q1 + r"field 'id': used at data\[0\]\.paragraphs\[0\]\.qas\[0\] and again at .*qas\[2\]",
    ),
    "no question": (lambda _, paragraph: paragraph["qas"][0].pop("question"), Q1 + "field 'question': missing"),
    "is_impossible as a text": (
        lambda _, paragraph: paragraph["qas"][0].update(is_impossible="no"),
        Q1 + r"field 'is_impossible': expected true or false, found 'no'",
    ),
    "answers to an impossible question": (
        lambda _, paragraph: paragraph["qas"][0].update(is_impossible=True),
        Q1 + r"field 'answers': 2 answers, but is_impossible is true",
    ),
    "no answer to a possible question": (
        lambda _, paragraph: paragraph["qas"][0].update(answers=[]),
        Q1 + r"field 'answers': no answer, but is_impossible is false",
    ),
    "an answer that is a text": (
        lambda _, paragraph: paragraph["qas"][0].update(answers=["The old actor"]),
        Q1 + r"answers\[0\]: expected an object with 'text', found str",
    ),
    "a start that is a text": (
        lambda _, paragraph: paragraph["qas"][0]["answers"][0].update(answer_start="0"),
        Q1 + r"field 'answers\[0\]\.answer_start': expected a whole number, found str",
    ),
    "a start that is true": (
        lambda _, paragraph: paragraph["qas"][0]["answers"][0].update(answer_start=True),
        Q1 + r"field 'answers\[0\]\.answer_start': expected a whole number, found bool",
    ),
    "a start that is far off": (
        lambda _, paragraph: paragraph["qas"][0]["answers"][1].update(answer_start=40),
        Q1 + r"field 'answers\[1\]\.answer_start': 40, but the answer 'old actor' is at 4",
    ),
    "an answer outside the context": (
        lambda _, paragraph: paragraph["qas"][0]["answers"][0].update(text="a young actor"),
        Q1 + r"field 'answers\[0\]\.answer_start': the answer 'a young actor' is not in the context",
    ),
    "no question at all": (lambda _, paragraph: paragraph.update(qas=[]), r"has no question$"),
}


@pytest.mark.parametrize("name", BAD)
def test_squad_json_errors_name_question_and_field(name, tmp_path):
    change, message = BAD[name]
    path = write_squad(tmp_path / "train.json", edited(change))
    with pytest.raises(DataError, match=message) as error:
        read_squad(path)
    assert str(error.value).startswith(str(path))


def test_squad_json_corrects_a_start_that_is_off_by_one(tmp_path, caplog):
    content = edited(
        lambda _, paragraph: paragraph["qas"][1]["answers"][0].update(answer_start=CONTEXT.index("2024") - 1)
    )
    assert read_squad(write_squad(tmp_path / "train.json", content)) == QUESTIONS
    assert "corrected the start of 1 answers" in caplog.text
    assert "question 'q2'" in caplog.text


def test_squad_json_skips_a_question_only_if_all_its_answers_are_invalid(tmp_path, caplog):
    def spoil(_, paragraph):
        paragraph["qas"][0]["answers"][0]["text"] = "nobody"
        paragraph["qas"][2]["answers"][0]["text"] = "nothing"

    questions = read_squad(write_squad(tmp_path / "train.json", edited(spoil)), invalid_answers="skip")
    assert [(each.id, len(each.answers)) for each in questions] == [("q1", 1), ("q2", 2), ("q4", 0)]
    assert "skipped 2 invalid answers" in caplog.text


def test_squad_json_without_a_valid_question_is_an_error(tmp_path):
    content = squad_json(QUESTIONS[2])
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["text"] = "nothing"
    with pytest.raises(DataError, match="has no valid question"):
        read_squad(write_squad(tmp_path / "train.json", content), invalid_answers="skip")


def test_squad_json_that_is_not_json_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "train.json"
    path.write_text('{"data":\n [1,, 2]}', encoding="utf-8")
    with pytest.raises(DataError, match=r"train\.json:2: not valid JSON"):
        read_squad(path)
    path.write_text('{"data": ' + "9" * 5000 + "}", encoding="utf-8")
    with pytest.raises(DataError, match=r"not valid JSON .*digits"):
        read_squad(path)
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="nested too deeply"):
        read_squad(path)


def test_part_of_a_file_has_the_answers_that_were_read(tmp_path):
    content = squad_json(*QUESTIONS)
    answers = content["data"][0]["paragraphs"][0]["qas"][0]["answers"]
    answers.append({"text": "nobody at all", "answer_start": 0})
    path = write_squad(tmp_path / "all.json", content)
    kept = {question.id: question for question in read_squad(path, invalid_answers="skip")[:2]}
    part = tmp_path / "part.json"
    part.write_text(squad_part(path, kept))
    assert read_squad(part) == tuple(kept.values())
