"""Columns that are named, and those of training."""

import json
import logging
from pathlib import Path

import pytest

from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.files import TASK
from litebert.tasks.file_formats import validate_columns_apply
from litebert.tasks.labelled_data import Task
from litebert.tasks.readers.columns import Columns, SavedTask, group_and_slice, resolve_columns
from litebert.tasks.readers.tables import Row, Table, read_table

SINGLE = SavedTask(task_type="classification", text="review", text_pair=None, label="stars")
PAIR = SavedTask(task_type="classification", text="premise", text_pair="hypothesis", label="label")


def table(tmp_path, *columns):
    return Table(tmp_path / "new.csv", columns, (Row(2, dict.fromkeys(columns, "x")),))


@pytest.mark.parametrize("text", [("review",), ("premise", "hypothesis")])
def test_saved_task_survives_the_model_directory(tmp_path, text):
    saved = SavedTask.of(
        Task(task_type="classification", text=text, label="l", labels=None, metrics=(), metric_for_best_model="")
    )
    (content,) = saved.files().values()
    (tmp_path / TASK).write_bytes(content)
    assert SavedTask.stored(tmp_path) == saved
    assert (saved.text, saved.text_pair) == (text[0], text[1] if len(text) > 1 else None)


def test_saved_task_of_a_foreign_model_is_none(tmp_path):
    assert SavedTask.stored(tmp_path) is None
    assert resolve_columns(Columns(), None, table(tmp_path, "a")) == Columns()


def test_columns_have_default_names():
    assert (Columns().text_name, Columns().label_name) == ("text", "label")
    given = Columns(text="a", label="c")
    assert (given.text_name, given.label_name) == ("a", "c")


@pytest.mark.parametrize("saved", [None, SINGLE])
@pytest.mark.parametrize(
    "given",
    [*({name: "text"} for name in ("text", "text_pair", "label", "group", "slice")), {"options": ("a", "text")}],
)
def test_resolve_columns_rejects_a_missing_named_column(tmp_path, saved, given):
    assert Columns(**given).named()[-1] == "text"
    with pytest.raises(DataError, match=r"new\.csv: no column 'text'; it has 'a', 'review', 'label', 'question'"):
        resolve_columns(Columns(**given), saved, table(tmp_path, "a", "review", "label", "question"))


@pytest.mark.parametrize("name", ["dev.json", "news.conll", "news.bio", "news.iob"])
def test_columns_are_rejected_for_files_without_named_columns(name):
    given = Columns(label="y", options=("a", "b"))
    with pytest.raises(ConfigError, match=f"^label, options: a {Path(name).suffix} file has no named columns"):
        validate_columns_apply(given, Path(name), Path("other.json"))
    validate_columns_apply(given, Path(name), Path("rows.csv"))
    validate_columns_apply(Columns(), Path(name))


@pytest.mark.parametrize(("content", "error"), [("[1]", CheckpointError), (json.dumps({"text": "a"}), ConfigError)])
def test_saved_task_file_that_is_damaged_is_an_error(tmp_path, content, error):
    (tmp_path / TASK).write_text(content)
    with pytest.raises(error, match=TASK):
        SavedTask.stored(tmp_path)


@pytest.mark.parametrize(
    ("saved", "there", "given", "expected"),
    [
        (SINGLE, ("review", "stars"), {}, {"text": "review", "label": "stars"}),
        (SINGLE, ("text", "label"), {}, {}),
        (SINGLE, ("review", "note"), {"text": "note"}, {"text": "note"}),
        (PAIR, ("premise", "hypothesis"), {}, {"text": "premise", "text_pair": "hypothesis"}),
        (PAIR, ("a", "b"), {"text": "a", "text_pair": "b"}, {"text": "a", "text_pair": "b"}),
        (SINGLE, ("review", "text"), {"text": "text"}, {"text": "text"}),
        (SINGLE, ("stars", "label"), {"label": "label"}, {"label": "label"}),
        (PAIR, ("hypothesis", "b"), {"text_pair": "b"}, {"text_pair": "b"}),
    ],
)
def test_resolve_columns_uses_the_columns_of_training(tmp_path, caplog, saved, there, given, expected):
    with caplog.at_level(logging.INFO, "litebert"):
        found = resolve_columns(Columns(**given), saved, table(tmp_path, *there))
    names = [(each.text_name, each.text_pair, each.label_name) for each in (found, Columns(**expected))]
    assert names[0] == names[1]
    assert ("using the columns of training: text" in caplog.text) == (given != expected)


def test_resolve_columns_rejects_half_a_pair(tmp_path):
    with pytest.raises(DataError, match=r"new\.csv: no column 'hypothesis'; the model was trained on pairs"):
        resolve_columns(Columns(text="premise"), PAIR, table(tmp_path, "premise"))


def test_resolve_columns_warns_of_pairs_for_a_model_of_single_texts(tmp_path, caplog):
    found = resolve_columns(Columns(text_pair="b"), SINGLE, table(tmp_path, "review", "b"))
    assert found.text_pair == "b"
    assert "the model was trained on single texts and is given pairs" in caplog.text


def test_empty_groups_and_slices_are_none(tmp_path):
    (tmp_path / "t.csv").write_text("text,who,year\na,,1999\nb,me,\n")
    table = read_table(tmp_path / "t.csv")
    assert group_and_slice(table, Columns(group="who", slice="year")) == ([None, "me"], ["1999", None])


def test_options_of_training_are_remembered_where_the_table_has_them(tmp_path):
    saved = SavedTask(task_type="multiple_choice", text="text", label="label", options=("first", "second"))
    (tmp_path / "t.csv").write_text("text,first,second\na,b,c\n")
    (tmp_path / "u.csv").write_text("text,option1,option2\na,b,c\n")
    assert resolve_columns(Columns(), saved, read_table(tmp_path / "t.csv")).options == ("first", "second")
    assert resolve_columns(Columns(), saved, read_table(tmp_path / "u.csv")).options == ()
