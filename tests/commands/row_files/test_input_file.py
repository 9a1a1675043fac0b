"""Rows of JSON lines with other fields than the first: read as they are, or refused where a field would be lost."""

import json

import pytest

from litebert.commands.row_files import input_file
from litebert.commands.row_files.input_file import InputFile
from litebert.errors import DataError
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.types.registry import get_task_type

REVIEWS = SavedTask(task_type="classification", text="review", label="label")
TEXTS = SavedTask(task_type="classification", text="text", label="label")
OPTIONS = SavedTask(task_type="multiple_choice", text="text", label="label", options=("left", "right"))
CHOICE = {"text": "a", "option1": "x", "option2": "y"}
QUESTION = {"text": "who", "context": "it is me"}


def source(directory, rows, *, task_type, **settings):
    """The rows as a file, as a model of this task type reads it."""
    path, reader = directory / "rows.jsonl", get_task_type(task_type).reader
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"columns": Columns(), "saved": None, "finds_column": reader.finds_column, **settings}
    return InputFile(path=path, read_inputs=reader.read_inputs, **given)


@pytest.mark.parametrize(
    ("task_type", "first", "later", "settings"),
    [
        ("classification", {"text": "a"}, {"review": "b"}, {"saved": REVIEWS}),
        ("multiple_choice", CHOICE, {"option3": "z"}, {}),
        ("multiple_choice", CHOICE, {"left": "z"}, {"saved": OPTIONS}),
        ("extractive_qa", QUESTION, {"question": "where"}, {}),
        ("classification", {"text": "a"}, {"label": "x"}, {"absent_label": "label"}),
    ],
)
def test_field_that_the_first_row_lacks_is_refused_if_it_would_be_read(
    tmp_path, monkeypatch, task_type, first, later, settings
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    rows = source(tmp_path, [first, first, {**first, **later}], task_type=task_type, **settings)
    with pytest.raises(
        DataError, match=rf"rows\.jsonl:3: field '{next(iter(later))}': the first row has no such field"
    ):
        list(rows.windows())


@pytest.mark.parametrize(
    ("task_type", "first", "later", "settings"),
    [
        ("classification", {"text": "a"}, {"option3": "c", "question": "d"}, {"saved": TEXTS}),
        ("classification", {"text": "a"}, {"review": "b"}, {"saved": REVIEWS, "columns": Columns(text="text")}),
        ("multiple_choice", {"text": "a", "left": "x", "right": "y"}, {"option3": "z"}, {"saved": OPTIONS}),
        ("multiple_choice", CHOICE, {"option3": "z"}, {"columns": Columns(options=("option1", "option2"))}),
        ("extractive_qa", QUESTION, {"question": "where"}, {"columns": Columns(text="text")}),
    ],
)
def test_field_that_the_first_row_lacks_is_kept_if_it_is_not_read(tmp_path, task_type, first, later, settings):
    rows = source(tmp_path, [first, {**first, **later}], task_type=task_type, **settings)
    (window,) = rows.windows()
    assert window.rows[1].values == {**first, **later}
    assert len(window.examples) == 2
