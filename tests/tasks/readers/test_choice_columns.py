"""Options and the right one of them, however they are written."""

import json

import pytest

from litebert.tasks.readers.choice_columns import option_columns, right_option
from litebert.tasks.readers.tables import read_table

OPTIONS = ("red", "blue", "green")


@pytest.mark.parametrize(("value", "index"), [("A", 0), ("C", 2), ("0", 0), (" 2 ", 2), ("blue", 1)])
def test_the_right_option_is_a_letter_a_number_from_zero_or_its_text(value, index):
    assert right_option(value, OPTIONS, where="x") == index


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (("text", "option1", "option2"), ("option1", "option2")),
        (("Choice A", "choice_b", "label"), ("Choice A", "choice_b")),
        (("ending0", "ending1", "ending2"), ("ending0", "ending1", "ending2")),
        (("text", "option1"), ()),
        (("text", "optional", "answers"), ()),
    ],
)
def test_columns_of_options_are_known_by_their_names(tmp_path, columns, found):
    path = tmp_path / "x.csv"
    path.write_text(",".join(columns) + "\n" + ",".join("x" for _ in columns) + "\n")
    assert option_columns(read_table(path)) == found


def test_one_column_may_hold_them_all(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"text": "a", "choices": ["x", "y"], "label": 0}) + "\n")
    assert option_columns(read_table(path)) == ("choices",)
