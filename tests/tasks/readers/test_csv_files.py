"""CSV files with commas, and with semicolons as spreadsheets of many languages write them."""

import csv
import gzip
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tasks.output_formats import csv_text
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.csv_files import delimiter_of
from litebert.tasks.readers.tables import read_table
from litebert.tasks.types.task_type import ReadOptions

FIELDS = st.lists(st.sampled_from('\rab,;\t"\n'), max_size=6).map("".join)


@pytest.mark.parametrize(
    ("first", "delimiter"),
    [
        ("text;label", ";"),
        ("text,label", ","),
        ("text;other,label", ","),
        ('"text, as read";label', ";"),
        ('"text; as read",label', ","),
        ('"text; as read"', ","),
        ('"text;', ","),
        ("text", ","),
        ("", ","),
    ],
)
def test_semicolons_separate_columns_where_the_first_line_has_no_comma(tmp_path, first, delimiter):
    path = tmp_path / "x.csv"
    path.write_text(f"{first}\nx;y,z\n")
    assert delimiter_of(path) == delimiter


def test_delimiter_is_found_after_a_byte_order_mark_and_in_gzip(tmp_path):
    (tmp_path / "x.CSV.gz").write_bytes(gzip.compress(b"\xef\xbb\xbftext;label\r\nx;y\r\n"))
    assert delimiter_of(tmp_path / "x.CSV.gz") == ";"
    assert delimiter_of(Path("rows.jsonl")) == ","


def test_semicolons_separate_columns_where_lines_end_in_a_carriage_return(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"text;label\ra, b;x\rc;y\r")
    assert [tuple(row.values.values()) for row in read_table(tmp_path / "x.csv").rows] == [("a, b", "x"), ("c", "y")]


def test_comma_in_a_name_between_semicolons_is_named_as_the_cause(tmp_path):
    (tmp_path / "x.csv").write_text("text;price, EUR;label\na;1,5;x\n")
    with pytest.raises(DataError, match=r"no column 'label'.*a comma in the first line was taken for the separator"):
        read_table(tmp_path / "x.csv").require("label")


@pytest.mark.parametrize("task_type", [None, "regression"])
def test_decimal_commas_are_refused(tmp_path, task_type):
    (tmp_path / "x.csv").write_text("text;label\na;1\nb;2,5\nc;3,0\n")
    with pytest.raises(DataError, match=r"x\.csv:3: field 'label': '2,5' has a decimal comma; write a point, 2\.5"):
        read_labelled(tmp_path / "x.csv", options=ReadOptions(task_type=task_type))


def test_tabs_in_a_csv_file_are_an_error(tmp_path):
    (tmp_path / "x.csv").write_text("text\tlabel\na\tb\n")
    with pytest.raises(DataError, match=r"x\.csv:1: has tabs and no comma; save the file with commas or semicolons"):
        read_table(tmp_path / "x.csv")


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5), FIELDS.map(str.strip))
def test_csv_text_with_semicolons_is_read_back(tmp_path_factory, rows, name):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(csv_text([("a", f"{name}b"), *rows], delimiter=";").encode())
    table = read_table(path)
    assert table.columns == ("a", f"{name}b")
    assert [tuple(row.values.values()) for row in table.rows] == rows


def test_labelled_file_with_semicolons_is_read_as_with_commas_and_logged_once(tmp_path, caplog):
    rows = [("text", "label"), ("gut; sehr", "1"), ("schlecht, leider", "0"), ('"na ja"', "0")]
    read = []
    for delimiter in ",;":
        with (tmp_path / "x.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows(rows)
        with caplog.at_level(logging.INFO):
            read.append(read_labelled(tmp_path / "x.csv"))
    assert read[0] == read[1]
    assert [each for each in caplog.messages if "semicolons" in each] == [
        f"{tmp_path}/x.csv: semicolons separate the columns"
    ]
