"""Columns that are not named are those of training; a second text that training had is never left out in silence."""

import json
import logging
from dataclasses import asdict
from pathlib import Path

import pytest

from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.tasks.readers.columns import (
    FILE,
    ColumnNames,
    Columns,
    SavedColumns,
    resolve_columns,
    validate_no_columns,
)
from litebert.tasks.readers.tables import Row, Table
from litebert.tasks.task_type import Task

SINGLE = SavedColumns(text="review", text_pair=None, label="stars")
PAIR = SavedColumns(text="premise", text_pair="hypothesis", label="label")


def table(tmp_path, *columns):
    return Table(tmp_path / "new.csv", columns, (Row(2, dict.fromkeys(columns, "x")),))


@pytest.mark.parametrize("text", [("review",), ("premise", "hypothesis")])
def test_what_is_kept_is_found_again(tmp_path, text):
    kept = SavedColumns.of(
        Task(kind="classification", text=text, label="l", labels=None, metrics=(), metric_for_best_model="")
    )
    (content,) = kept.files().values()
    (tmp_path / FILE).write_bytes(content)
    assert SavedColumns.stored(tmp_path) == kept
    assert (kept.text, kept.text_pair) == (text[0], text[1] if len(text) > 1 else None)


def test_a_model_from_elsewhere_keeps_none_and_changes_nothing(tmp_path):
    assert SavedColumns.stored(tmp_path) is None
    assert resolve_columns(Columns(), None, table(tmp_path, "a")) == Columns()


def test_what_nobody_named_has_its_usual_name():
    usual = {"text": "text", "text_pair": None, "label": "label", "options": (), "group": None, "slice": None}
    assert Columns().names() == ColumnNames(**usual)
    given = {"text": "a", "text_pair": "b", "label": "c", "options": ("d",), "group": "e", "slice": "f"}
    assert Columns(**given).names() == ColumnNames(**given)


@pytest.mark.parametrize("kept", [None, SINGLE])
@pytest.mark.parametrize(
    "given",
    [*({name: "text"} for name in ("text", "text_pair", "label", "group", "slice")), {"options": ("a", "text")}],
)
def test_a_column_that_is_named_is_there_or_refused(tmp_path, kept, given):
    assert Columns(**given).named()[-1] == "text"
    with pytest.raises(DataError, match=r"new\.csv: no column 'text'; it has 'a', 'review', 'label', 'question'"):
        resolve_columns(Columns(**given), kept, table(tmp_path, "a", "review", "label", "question"))


@pytest.mark.parametrize("name", ["dev.json", "news.conll", "news.bio", "news.iob"])
def test_names_are_refused_where_no_file_has_columns_to_bear_them(name):
    given = {"text": None, "label": "y", "options": ("a", "b")}
    with pytest.raises(ConfigError, match=f"^label, options: a {Path(name).suffix} file has places of its own"):
        validate_no_columns(given, Path(name), Path("other.json"))
    validate_no_columns(given, Path(name), Path("rows.csv"))
    validate_no_columns(asdict(Columns()), Path(name))


@pytest.mark.parametrize(("content", "error"), [("[1]", CheckpointError), (json.dumps({"text": "a"}), ConfigError)])
def test_a_damaged_file_is_refused(tmp_path, content, error):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(error, match=FILE):
        SavedColumns.stored(tmp_path)


@pytest.mark.parametrize(
    ("kept", "there", "given", "expected"),
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
def test_names_that_are_not_given_are_those_of_training_where_the_table_has_them(
    tmp_path, caplog, kept, there, given, expected
):
    with caplog.at_level(logging.INFO, "litebert"):
        found = resolve_columns(Columns(**given), kept, table(tmp_path, *there))
    assert found.names() == Columns(**expected).names()
    assert ("columns as in training: text" in caplog.text) == (given != expected)


def test_half_a_pair_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"new\.csv: no column 'hypothesis'; the model learned from two texts"):
        resolve_columns(Columns(text="premise"), PAIR, table(tmp_path, "premise"))


def test_a_pair_for_a_model_of_single_texts_is_said(tmp_path, caplog):
    found = resolve_columns(Columns(text_pair="b"), SINGLE, table(tmp_path, "review", "b"))
    assert found.text_pair == "b"
    assert "the model learned from single texts, and is given pairs" in caplog.text
