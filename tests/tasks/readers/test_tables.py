"""Tables with named columns."""

import csv
import datetime
import gzip
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError, MissingExtraError
from litebert.tasks.output_formats import csv_text
from litebert.tasks.readers.tables import iter_tables, open_tsv, read_table, refuse_late_columns

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)
FIELDS_WITH_RETURNS = st.lists(st.sampled_from('\rab,"\n'), max_size=8).map("".join)


def write(directory, name, content):
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5))
def test_csv_table_equals_what_a_csv_writer_wrote(tmp_path_factory, rows):
    buffer = io.StringIO()
    csv.writer(buffer).writerows([("a", "b"), *rows])
    table = read_table(write(tmp_path_factory.mktemp("csv"), "x.csv", buffer.getvalue()))
    assert [(row.values["a"], row.values["b"]) for row in table.rows] == rows


@given(st.lists(st.tuples(FIELDS_WITH_RETURNS, FIELDS_WITH_RETURNS), min_size=1, max_size=5))
def test_csv_text_is_read_back(tmp_path_factory, rows):
    table = read_table(write(tmp_path_factory.mktemp("csv"), "x.csv", csv_text([("a", "b"), *rows])))
    assert [(row.values["a"], row.values["b"]) for row in table.rows] == rows


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5))
def test_jsonl_table_equals_what_a_json_writer_wrote(tmp_path_factory, rows):
    content = "\n".join(json.dumps({"a": a, "b": b}, ensure_ascii=False) for a, b in rows)
    table = read_table(write(tmp_path_factory.mktemp("jsonl"), "x.jsonl", content))
    assert list(zip(table.texts("a"), table.texts("b"), strict=True)) == rows


def test_tsv_table_has_literal_quotes(tmp_path):
    table = read_table(write(tmp_path, "x.tsv", 'text\tlabel\n"an open quote\t1\nsay "yes"\t0\n'))
    assert table.texts("text") == ['"an open quote', 'say "yes"']


def test_table_ignores_byte_order_mark_and_crlf(tmp_path):
    table = read_table(write(tmp_path, "x.tsv", b"\xef\xbb\xbftext\tlabel\r\ngood\t1\r\n\r\n"))
    assert table.columns == ("text", "label")
    assert table.texts("label") == ["1"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
@given(rows=st.integers(1, 20), rows_per_table=st.integers(1, 7), skip=st.integers(0, 9))
def test_iter_tables_gives_the_rows_of_read_table_in_parts(tmp_path_factory, name, rows, rows_per_table, skip):
    lines = [json.dumps({"a": f"text {n}", "b": n}) for n in range(rows)]
    if name != "x.jsonl":
        sign = "," if name == "x.csv" else "\t"
        lines = [f"a{sign}b", *(f"text {n}{sign}{n}" for n in range(rows))]
    path = write(tmp_path_factory.mktemp("parts"), name, "\n".join(lines) + "\n")
    parts = list(iter_tables(path, rows_per_table=rows_per_table, skip_rows=skip))
    assert [row for part in parts for row in part.rows] == list(read_table(path).rows[skip:])
    assert all(len(part.rows) <= rows_per_table for part in parts)


def test_iter_tables_reads_lazily(tmp_path):
    path = write(tmp_path, "x.csv", "a,b\n" + "1,2\n" * 5 + "broken\n")
    assert len(next(iter_tables(path, rows_per_table=5)).rows) == 5


def test_csv_field_may_have_a_million_characters(tmp_path):
    table = read_table(write(tmp_path, "x.csv", "text\n" + "a" * 1_000_000 + "\n"))
    assert len(table.rows[0].values["text"]) == 1_000_000


def test_csv_line_numbers_count_quoted_line_breaks(tmp_path):
    path = write(tmp_path, "x.csv", 'text,label\n"two\nlines",1\nthird\n')
    with pytest.raises(DataError, match=r"x\.csv:4: 1 fields, expected 2; 'label' is missing"):
        read_table(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "lines", "rows"),
    [
        ("x.csv", ["a", "", "x", "", "", '""', "y", ""], [(3, "x"), (6, ""), (7, "y")]),
        ("x.csv", ["a,b", "x,1", "", "y,2"], [(2, "x"), (4, "y")]),
        ("x.tsv", ["a", "", "x", "", "y", ""], [(3, "x"), (5, "y")]),
        ("x.tsv", ["a\tb", "x\t1", "", "y\t2", "\t"], [(2, "x"), (4, "y"), (5, "")]),
    ],
)
def test_blank_lines_of_csv_and_tsv_are_no_rows(tmp_path, name, lines, rows, end):
    table = read_table(write(tmp_path, name, end.join(lines) + end))
    assert list(zip([row.line for row in table.rows], table.texts("a"), strict=True)) == rows


def test_blank_line_in_a_quoted_field_is_part_of_it(tmp_path):
    table = read_table(write(tmp_path, "x.csv", 'a,b\n"two\n\nparagraphs",1\n\n"\n",2\n'))
    assert [(row.line, row.values["a"]) for row in table.rows] == [(2, "two\n\nparagraphs"), (6, "\n")]


def test_blank_lines_are_no_misfits(tmp_path, caplog):
    table = open_tsv(write(tmp_path, "x.tsv", "a\tb\n1\t2\n\n3\n4\t5\n"), skip_misfits=True)
    assert [row.line for row in table[1]] == [2, 5]
    assert "skipped 1 rows without 2 fields, at lines 4" in caplog.text


def test_jsonl_table_allows_numbers_null_and_extra_fields(tmp_path):
    table = read_table(write(tmp_path, "x.jsonl", '{"a": 1.50, "b": null}\n{"a": true, "b": "x", "c": [1]}\n'))
    assert table.texts("a") == ["1.5", "true"]
    assert table.texts("b") == ["", "x"]
    assert table.columns == ("a", "b", "c")


def test_jsonl_table_has_the_columns_of_all_rows_and_null_where_one_is_missing(tmp_path):
    table = read_table(write(tmp_path, "x.jsonl", '{"b": 1}\n{"c": 2, "a": 3, "b": 4}\n{"a": 5}\n'))
    assert table.columns == ("b", "c", "a")
    assert [list(row.values.values()) for row in table.rows[::2]] == [[1, None, None], [None, None, 5]]
    assert (table.texts("a"), [row.line for row in table.rows]) == (["", "3", "5"], [1, 2, 3])


def test_a_later_column_of_a_stream_is_refused_if_it_would_be_read(tmp_path):
    path = write(tmp_path, "x.jsonl", '{"a": "x"}\n{"a": "y"}\n{"a": "z", "n": 1, "b": 2}\n')
    first, second = iter_tables(path, rows_per_table=2)
    assert first.columns == second.columns == ("a",)
    refuse_late_columns(first, lambda name: True)
    refuse_late_columns(second, lambda name: name == "c")
    with pytest.raises(DataError, match=r"x\.jsonl:3: field 'b': the first row has no such field, .*; give every row"):
        refuse_late_columns(second, lambda name: name == "b")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tsv", "a\tb\n1\n", r"x\.tsv:2: 1 fields, expected 2; 'b' is missing"),
        ("x.tsv", "a\tb\n1\t2\n1\t2\textra\n", r"x\.tsv:3: 3 fields, expected 2; too many from 'extra' on"),
        ("x.tsv", "a\ta\n1\t2\n", r"x\.tsv:1: the column 'a' is named 2 times"),
        ("x.tsv", "a\tb\n", r"no rows after the names"),
        ("x.tsv", "", r"the file is empty"),
        ("x.csv", "\n\n", r"the file is empty"),
        ("x.csv", "\na,b\n1,2\n", r"x\.csv:1: the first line is blank"),
        ("x.tsv", "\na\tb\n1\t2\n", r"x\.tsv:1: the first line is blank"),
        ("x.csv", "a,b\n\n\n", r"no rows after the names"),
        ("x.csv", "a,b\n1,2\n\n3\n", r"x\.csv:4: 1 fields, expected 2"),
        ("x.csv", 'a,b\n1,2\n"open,4\n', r"x\.csv:3: not valid CSV"),
        ("x.csv", b"a,b\n\x00\x01,2\n", r"binary or UTF-16"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), r"binary or UTF-16"),
        ("x.csv", b"a,b\n1,2\ncaf\xe9,2\n", r"x\.csv:3: not UTF-8 \(byte 0xe9\)"),
        ("x.txt", "a\n", r"unknown format '\.txt'; it has texts without columns: give a \.csv"),
        ("x.XLSX", "a\n", r"unknown format '\.xlsx'; save it as \.csv, or read it with pandas .*\(train=frame\)"),
        ("x.jsonl", '{"a": 1}\n{"a": \n', r"x\.jsonl:2: not valid JSON"),
        ("x.jsonl", '{"a": 1}\n\n{"a": 2}\n', r"x\.jsonl:2: a blank line; remove it"),
        ("x.jsonl", '{"a": 1, "a": 2}\n', r"x\.jsonl:1: not valid JSON \(the field 'a' is given 2 times\)"),
        ("x.jsonl", "[1]\n", r"x\.jsonl:1: expected a JSON object, found list"),
        ("x.jsonl", '{"a": "x", "b": ["\\ud83d"]}\n', r"x\.jsonl:1: field 'b': has half of a surrogate pair"),
        ("x.jsonl", '{"a": ' + "[" * 100_000 + "\n", r"x\.jsonl:1: not valid JSON"),
    ],
)
def test_invalid_table_is_an_error_with_file_and_line(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, name, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": "x"}\n{"A": "y"}\n', r"x\.jsonl:2: field 'a': missing"),
        ('{"a": {"b": 1}}\n', r"x\.jsonl:1: field 'a': expected a text or a number, found dict"),
    ],
)
def test_invalid_field_is_an_error_with_its_line(tmp_path, content, message):
    (table,) = iter_tables(write(tmp_path, "x.jsonl", content), rows_per_table=9)
    with pytest.raises(DataError, match=message):
        table.texts("a")


def test_missing_column_is_an_error_with_the_existing_ones(tmp_path):
    table = read_table(write(tmp_path, "x.tsv", "sentence\tlabel\na\tb\n"))
    with pytest.raises(
        DataError, match=r"no column 'sentense' \(did you mean 'sentence'\?\); it has 'sentence', 'label'"
    ):
        table.texts("sentense")


def test_missing_table_is_an_error(tmp_path):
    for name in ("x.csv", "absent"):
        with pytest.raises(DataError, match=f"{name}: no such file; check the path"):
            read_table(tmp_path / name)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"is a directory; give a \.csv"):
        read_table(tmp_path / "d.csv")


@pytest.mark.parametrize("name", ["X.CSV", "x.tsv.gz", "x.jsonl.gz", "x.Csv.GZ"])
def test_table_is_read_compressed_and_with_any_case_of_the_ending(tmp_path, name):
    sign = "," if "csv" in name.lower() else "\t"
    content = f"text{sign}label\ngood{sign}1\n\nbad{sign}0\n"
    if "jsonl" in name:
        content = '{"text": "good", "label": 1}\n{"text": "bad", "label": 0}\n'
    encoded = content.encode()
    table = read_table(write(tmp_path, name, gzip.compress(encoded) if name.lower().endswith("gz") else encoded))
    assert (table.texts("text"), table.texts("label")) == (["good", "bad"], ["1", "0"])
    assert [row.line for row in table.rows] == ([1, 2] if "jsonl" in name else [2, 4])


def test_compressed_csv_has_the_line_numbers_of_the_text(tmp_path):
    path = write(tmp_path, "x.csv.gz", gzip.compress(b'text,label\n"two\nlines",1\nthird\n'))
    with pytest.raises(DataError, match=r"x\.csv\.gz:4: 1 fields, expected 2; 'label' is missing"):
        read_table(path)


def write_parquet(path, **columns):
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_parquet_table_has_the_values_of_its_columns(tmp_path):
    day = datetime.date(2026, 1, 31)
    path = write_parquet(
        *(tmp_path / "x.Parquet",), text=["a", None, "c"], label=[1, 2, 3], day=[day] * 3, tags=[["x"], [], ["y", "z"]]
    )
    table = read_table(path)
    assert table.columns == ("text", "label", "day", "tags")
    assert table.texts("text") == ["a", "", "c"]
    assert table.texts("label") == ["1", "2", "3"]
    assert table.texts("day") == ["2026-01-31"] * 3
    assert [row.values["tags"] for row in table.rows] == [["x"], [], ["y", "z"]]
    assert [row.line for row in table.rows] == [1, 2, 3]


@given(rows=st.integers(1, 9), rows_per_table=st.integers(1, 5), skip=st.integers(0, 9))
def test_iter_tables_of_parquet_gives_the_rows_in_parts(tmp_path_factory, rows, rows_per_table, skip):
    path = write_parquet(tmp_path_factory.mktemp("parts") / "x.parquet", a=[f"text {n}" for n in range(rows)])
    parts = list(iter_tables(path, rows_per_table=rows_per_table, skip_rows=skip))
    assert [row for part in parts for row in part.rows] == list(read_table(path).rows[skip:])


def test_invalid_parquet_is_an_error(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=r"x\.parquet: not a readable Parquet file .*; get a new copy"):
        read_table(write(tmp_path, "x.parquet", "text,label\n"))
    with pytest.raises(DataError, match=r"b\.parquet:1: field 'text': expected a text or a number, found bytes"):
        read_table(write_parquet(tmp_path / "b.parquet", text=[b"a"])).texts("text")
    with pytest.raises(DataError, match=r"e\.parquet: no rows"):
        read_table(write_parquet(tmp_path / "e.parquet", text=pyarrow.array([], "string")))
    twice = pyarrow.table([["a"], ["b"]], names=["text", "text"])
    pyarrow.parquet.write_table(twice, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: the column 'text' is named 2 times"):
        read_table(tmp_path / "t.parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[data\]"):
        read_table(write(tmp_path, "x.parquet", "content"))
