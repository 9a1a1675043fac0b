"""Options and the correct one in tables."""

import json

import pytest

from litebert.tasks.readers.tables import read_table
from litebert.tasks.types.multiple_choice.multiple_choice import correct_option, option_columns

OPTIONS = ("red", "blue", "green")


@pytest.mark.parametrize(("value", "index"), [("A", 0), ("C", 2), ("0", 0), (" 2 ", 2), ("blue", 1)])
def test_correct_option_is_a_letter_an_index_or_a_text(value, index):
    assert correct_option(value, OPTIONS, where="x") == index


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
def test_option_columns_are_found_by_their_names(tmp_path, columns, found):
    path = tmp_path / "x.csv"
    path.write_text(",".join(columns) + "\n" + ",".join("x" for _ in columns) + "\n")
    assert option_columns(read_table(path)) == found


def test_option_columns_may_be_one_column_with_lists(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"text": "a", "choices": ["x", "y"], "label": 0}) + "\n")
    assert option_columns(read_table(path)) == ("choices",)
