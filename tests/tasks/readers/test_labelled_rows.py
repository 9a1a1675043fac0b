"""Rows of labelled tables that are blank, and rows without a label."""

import json
import logging

import pytest

from litebert.errors import DataError
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.types.task_type import ReadOptions

SKIP = ReadOptions(unlabelled_rows="skip")
CLASSES = "text,label\na,x\nb,\nc,y\nd, \ne,x\n"


def write(path, content):
    path.write_text(content)
    return path


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("x.csv", "text,label\na,x\n,\n\nb,y\n , \n,\n", (2, 5)),
        ("x.csv", "text;label;\na;x;\n;;\nb;y;1\n", (2, 4)),
        ("x.tsv", "text\tlabel\n\t\na\tx\nb\ty\n", (3, 4)),
        (
            "x.jsonl",
            json_lines({"text": "a", "label": "x"}, {"text": None, "label": ""}, {"text": "b", "label": "y"}),
            (1, 3),
        ),
    ],
)
def test_blank_rows_of_labelled_tables_are_skipped_and_logged_once(tmp_path, caplog, name, content, lines):
    with caplog.at_level(logging.INFO):
        data = read_labelled(write(tmp_path / name, content))
    assert data.lines == lines
    (message,) = [each for each in caplog.messages if "skipped" in each]
    assert "rows, which are blank (line" in message


def test_table_of_blank_rows_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"x\.csv: all 2 rows are blank; give a file with at least one row"):
        read_labelled(write(tmp_path / "x.csv", "text,label\n,\n,\n"))


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (
            ["x", "", "y", " "],
            r"x\.csv:3: field 'label': the label is empty in 2 of 4 rows \(lines 3, 5\); fill it, remove",
        ),
        (["x", *[""] * 7], r"x\.csv:3: .* in 7 of 8 rows \(lines 3, 4, 5, 6, 7, …\); .* data\.unlabelled_rows=skip"),
        (["", ""], r"x\.csv:2: .* is empty in all 2 rows; fill it, or name the column of the label \(--label\)"),
    ],
)
@pytest.mark.parametrize("task_type", [None, "classification", "regression"])
def test_rows_without_a_label_are_one_error_that_counts_them(tmp_path, labels, where, task_type):
    rows = "".join(f"text {number},{label}\n" for number, label in enumerate(labels))
    with pytest.raises(DataError, match=where):
        read_labelled(write(tmp_path / "x.csv", f"text,label\n{rows}"), options=ReadOptions(task_type=task_type))


@pytest.mark.parametrize(
    ("name", "content", "task_type"),
    [
        ("x.csv", CLASSES, "classification"),
        ("x.csv", "text,label\na,0.5\nb,\nc,1\nd,\ne,2\n", "regression"),
        ("x.csv", "text,option1,option2,label\na,p,q,A\nb,p,q,\nc,p,q,B\nd,p,q,\ne,p,q,A\n", "multiple_choice"),
        (
            "x.csv",
            "text,text_pair,label\nAnn saw Bo and she ran.,Ann ran.,1\nb,c,\nAnn saw Bo and she ran.,Bo ran.,0\nd,e,\n"
            "Ann saw Bo and she ran.,Ann ran.,1\n",
            "pronoun_resolution",
        ),
        (
            "x.jsonl",
            json_lines(
                {"text": ["a"], "label": ["x"]},
                {"text": ["b"], "label": []},
                {"text": ["c"], "label": ["x"]},
                {"text": ["d"]},
                {"text": ["e"], "label": ["y"]},
            ),
            "token_classification",
        ),
    ],
)
def test_rows_without_a_label_are_skipped_if_set(tmp_path, caplog, name, content, task_type):
    path, given = write(tmp_path / name, content), task_type if task_type == "pronoun_resolution" else None
    pair = Columns(text_pair="text_pair") if given else None
    with caplog.at_level(logging.INFO):
        data = read_labelled(path, pair, options=ReadOptions(task_type=given, unlabelled_rows="skip"))
    first = 1 if name == "x.jsonl" else 2
    assert (data.task_type, data.lines) == (task_type, (first, first + 2, first + 4))
    assert f"{path}: skipped 2 of 5 rows, which have no label (lines {first + 1}, {first + 3})" in caplog.messages


@pytest.mark.parametrize("task_type", ["multiple_choice", "token_classification"])
def test_rows_without_options_or_lists_of_labels_are_counted_too(tmp_path, task_type):
    content = {
        "multiple_choice": ({"options": ["a", "b"]}, "A"),
        "token_classification": ({}, ["x"]),
    }
    others, label = content[task_type]
    text = ["a"] if task_type == "token_classification" else "a"
    rows = json_lines({"text": text, "label": label, **others}, {"text": text, "label": None, **others})
    with pytest.raises(DataError, match=r"x\.jsonl:2: field 'label': the label is empty in 1 of 2 rows \(line 2\)"):
        read_labelled(write(tmp_path / "x.jsonl", rows), options=ReadOptions(task_type=task_type))


def test_empty_labels_that_say_there_is_none_are_kept(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    labels = json_lines({"text": "a", "label": ["x"]}, {"text": "b", "label": []}, {"text": "c", "label": ["y"]})
    assert len(read_labelled(write(tmp_path / "x.jsonl", labels), options=SKIP).examples) == 3
    questions = "question,context,answer\nWho?,Ann ran.,Ann\nWhy?,Ann ran.,\n"
    assert len(read_labelled(write(tmp_path / "x.csv", questions), options=SKIP).examples) == 2
    assert "have no label" not in caplog.text


def test_column_without_any_label_is_an_error_where_rows_without_a_label_are_skipped(tmp_path):
    with pytest.raises(DataError, match=r"the label is empty in all 2 rows; fill it, or name the column"):
        read_labelled(write(tmp_path / "x.csv", "text,label\na,\nb,\n"), options=SKIP)


@pytest.mark.parametrize("labels", [("false", "true"), ("False", "True")])
@pytest.mark.parametrize(("name", "content"), [("x.csv", "text,label\na,True\nb,False\n"), ("x.jsonl", None)])
def test_booleans_are_the_labels_of_training_as_json_and_as_pandas_write_them(tmp_path, labels, name, content):
    content = content or json_lines({"text": "a", "label": True}, {"text": "b", "label": False})
    data = read_labelled(write(tmp_path / name, content), options=ReadOptions(labels=labels))
    assert [example.target for example in data.examples] == [1, 0]
