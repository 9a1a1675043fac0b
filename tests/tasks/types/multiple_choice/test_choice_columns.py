"""Options and the correct one in tables."""

import json

import pytest

from litebert.errors import DataError
from litebert.tasks.readers.option_columns import option_columns
from litebert.tasks.readers.tables import read_table
from litebert.tasks.types.multiple_choice.multiple_choice import correct_options

OPTIONS = ("red", "blue", "green")


def correct(values, rows):
    return correct_options(values, rows, places=[f"row {number}" for number in range(len(rows))])


@pytest.mark.parametrize(("value", "index"), [("A", 0), ("C", 2), ("0", 0), (" 2 ", 2), ("blue", 1)])
def test_correct_option_is_a_letter_an_index_or_a_text(value, index):
    assert correct([value], [OPTIONS]) == [index]


def test_correct_option_may_differ_in_the_spaces_around_it():
    assert correct(["blue"], [("red", " blue", "green")]) == [1]
    assert correct(["blue"], [("blue ", "blue", "green")]) == [1]


@pytest.mark.parametrize("value", ["", "AB", "D", "3", "-1", "yellow", "²"])
def test_correct_option_is_none_of_the_options(value):
    with pytest.raises(DataError, match=r"row 1: .* is none of the 3 options; give a letter from A to C, a number"):
        correct(["A", value], [OPTIONS, OPTIONS])


def test_numbers_that_are_options_are_read_as_texts_if_only_that_fits_all_rows():
    rows = [("2", "3", "4", "5"), ("9", "8", "1", "2")]
    assert correct(["2", "9"], rows) == [0, 0]
    assert correct(["B", "A"], [("B", "A", "x"), ("x", "y", "z")]) == [1, 0]  # as letters both fit


def test_a_label_that_is_read_in_two_ways_is_an_error():
    with pytest.raises(DataError, match="row 0: '2' is the text of one option and the letter or number of another"):
        correct(["2", "1"], [("1", "2", "3"), ("3", "2", "1")])


def test_rows_may_name_their_options_differently():
    assert correct(["A", "2", "red"], [OPTIONS] * 3) == [0, 2, 0]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (("text", "option1", "option2"), ("option1", "option2")),
        (("Choice A", "choice_b", "label"), ("Choice A", "choice_b")),
        (("ending0", "ending1", "ending2"), ("ending0", "ending1", "ending2")),
        (("option_a", "option_b", "option_f"), ("option_a", "option_b", "option_f")),
        (("option9", "option10"), ("option9", "option10")),
        (("options", "answers"), ()),
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
