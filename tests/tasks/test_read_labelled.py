"""Formats of labelled files, and tasks made of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from litebert.errors import ConfigError
from litebert.tasks.file_formats import format_of
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.task_of_data import task_for
from litebert.tasks.types.extractive_qa.extractive_qa import EXTRACTIVE_QA, SQUAD_JSON
from litebert.tasks.types.registry import register, unregister
from litebert.tasks.types.task_type import ReadOptions, ReadResult


@pytest.mark.parametrize(
    ("name", "content", "task_type"),
    [
        ("x.csv", "text,label\na,b\nc,d\n", "classification"),
        ("x.tsv", "text\tlabel\na\t0.5\n", "regression"),
        ("x.jsonl", '{"text": "a", "label": ["x"]}\n{"text": "b", "label": ["y"]}\n', "multi_label"),
        ("x.conll", "a O\n", "token_classification"),
        ("x.bio", "a O\n", "token_classification"),
    ],
)
def test_read_labelled_reads_every_format(tmp_path, name, content, task_type):
    (tmp_path / name).write_text(content)
    assert read_labelled(tmp_path / name).task_type == task_type


def test_format_of_a_file_is_that_of_the_task_type_if_several_have_one():
    assert format_of(Path("x.csv")) is None
    assert format_of(Path("x.json.gz")) is format_of(Path("x.json"), "extractive_qa") is SQUAD_JSON
    own = replace(SQUAD_JSON, read=lambda path, options: ReadResult(examples=()))
    register(replace(EXTRACTIVE_QA, name="own", reader=replace(EXTRACTIVE_QA.reader, file_format=own)))
    try:
        assert format_of(Path("x.json")) is format_of(Path("x.json"), "own") is own
        assert format_of(Path("x.json"), "extractive_qa") is SQUAD_JSON
    finally:
        unregister("own")


def test_labels_in_lists_are_named_as_in_a_column(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "label": [true, 1, "x"]}\n{"text": "b", "label": [0.5]}\n')
    assert set(read_labelled(path).labels) == {"true", "1", "x", "0.5"}


def test_read_labelled_rejects_another_task_type_for_json(tmp_path):
    with pytest.raises(ConfigError, match=r"a \.json file has extractive_qa .*, not token_classification; .*\.jsonl"):
        read_labelled(tmp_path / "x.json", options=ReadOptions(task_type="token_classification"))


@pytest.mark.parametrize(
    ("content", "is_same"),
    [
        ("note,text,label\n1,a,x\n2,b,y\n", True),
        ("text,label\na,y\nb,x\n", False),
        ("text,label\nb,y\na,x\n", False),
        ("text,label\na,x\nb,z\n", False),
        ("text,label\na,x\nb!,y\n", False),
    ],
)
def test_fingerprint_of_labelled_data_is_that_of_texts_and_labels_in_order(tmp_path, content, is_same):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("text,label\na,x\nb,y\n")
    second.write_text(content)
    assert (read_labelled(first).fingerprint == read_labelled(second).fingerprint) is is_same


@pytest.mark.parametrize(
    ("task_type", "content", "column"),
    [
        ("classification", '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n', {"options": ("text",)}),
        ("token_classification", '{"text": ["a"], "label": ["x"], "other": "b"}\n', {"text_pair": "other"}),
    ],
)
def test_read_labelled_refuses_a_column_that_the_task_type_does_not_read(tmp_path, task_type, content, column):
    (tmp_path / "x.jsonl").write_text(content)
    with pytest.raises(ConfigError, match=rf"^{next(iter(column))}: not used for {task_type}; leave them out"):
        read_labelled(tmp_path / "x.jsonl", Columns(**column), options=ReadOptions(task_type=task_type))


def test_read_labelled_takes_a_column_of_training_that_the_task_type_does_not_read(tmp_path):
    """Nobody named it now: a model remembers it."""
    (tmp_path / "x.jsonl").write_text('{"text": ["a"], "label": ["x"], "other": "b"}\n')
    saved = SavedTask(task_type="token_classification", text="text", text_pair="other", label="label")
    options = ReadOptions(task_type="token_classification")
    assert read_labelled(tmp_path / "x.jsonl", saved=saved, options=options).labels == ("x",)


def test_task_for_selects_by_the_first_metric():
    data = LabelledData(Path("x"), "classification", (), ("n", "p", "u"), "")
    task = task_for(data, Columns(text="a", text_pair="b", label="y"), ["macro_f1", "accuracy"])
    assert (task.metric_for_best_model, task.text, task.label) == ("macro_f1", ("a", "b"), "y")
    assert task_for(data, Columns(text="a", label="y")).metrics == ("accuracy",)


def test_task_for_rejects_a_metric_of_another_task_type():
    data = LabelledData(Path("x"), "classification", (), ("n", "p"), "")
    with pytest.raises(ConfigError, match="'pearson' does not apply to this task type; use accuracy, f1"):
        task_for(data, Columns(text="a", label="y"), ["pearson"])
