"""Probabilities of labels as other programs write them: JSON in CSV and TSV, maps in Parquet, rounded numbers."""

import csv
import json

import pytest

from litebert.errors import DataError
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.types.task_type import ReadOptions

TRAINING = ReadOptions(soft_labels=True)


def write_csv(path, *rows, columns=("text", "label")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def parquet_map(path, column, *maps):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {
        "text": [f"text {index}" for index in range(len(maps))],
        column: arrow.array(maps, type=arrow.map_(arrow.string(), arrow.float64())),
    }
    parquet.write_table(arrow.table(table), path)
    return path


@pytest.mark.parametrize("empty", ["{}", " { } "])
def test_an_object_without_labels_in_a_csv_cell_is_no_label(tmp_path, empty):
    rows = [("one", '{"a": 0.9, "b": 0.1}'), ("two", empty), ("three", '{"b": 1}')]
    with pytest.raises(DataError, match="the label is empty in 1 of 3 rows"):
        read_labelled(write_csv(tmp_path / "classes.csv", *rows), options=TRAINING)
    rows = [("one", '{"a": 0.9, "b": 0.8}'), ("two", empty), ("three", '{"b": 0.7}')]
    write_csv(tmp_path / "rows.csv", *rows)
    data = read_labelled(tmp_path / "rows.csv", options=TRAINING)
    assert (data.task_type, data.labels) == ("multi_label", ("a", "b"))
    assert [example.soft_label for example in data.examples] == [(0.9, 0.8), None, (0.0, 0.7)]


def test_csv_rows_with_a_label_and_probabilities_are_counted(tmp_path, caplog):
    rows = [("one", "a", '{"a": 0.9, "b": 0.1}'), ("two", "b", '{"a": 0.2, "b": 0.8}')]
    with caplog.at_level("INFO", "litebert.tasks"):
        data = read_labelled(
            write_csv(tmp_path / "rows.csv", *rows, columns=("text", "label", "probabilities")), options=TRAINING
        )
    assert [example.soft_label for example in data.examples] == [None, None]
    assert "2 rows have 'label' and 'probabilities'; the label is used" in caplog.text


@pytest.mark.parametrize("column", ["label", "probabilities"])
def test_objects_in_quotes_of_csv_are_refused_in_tsv(tmp_path, column):
    quoted = '"{""a"": 0.1, ""b"": 0.9}"'
    (tmp_path / "rows.tsv").write_text(f"text\t{column}\none\t{quoted}\ntwo\t{quoted}\n")
    with pytest.raises(DataError, match=rf"rows\.tsv:2: field '{column}': JSON in the quotes of CSV"):
        read_labelled(tmp_path / "rows.tsv", options=TRAINING)


@pytest.mark.parametrize("column", ["label", "probabilities"])
def test_maps_of_parquet_are_objects(tmp_path, column):
    maps = [[("a", 0.25), ("b", 0.75)], [("b", 1.0)]]
    data = read_labelled(parquet_map(tmp_path / "rows.parquet", column, *maps), options=TRAINING)
    assert (data.task_type, data.labels) == ("classification", ("a", "b"))
    assert [example.soft_label for example in data.examples] == [(0.25, 0.75), (0.0, 1.0)]


def test_a_map_of_parquet_that_has_a_label_twice_is_refused(tmp_path):
    file = parquet_map(tmp_path / "rows.parquet", "label", [("a", 0.25), ("a", 0.75)])
    with pytest.raises(DataError, match="duplicate key"):
        read_labelled(file, options=TRAINING)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_probabilities_as_labels_are_refused_where_they_are_not_read(tmp_path, suffix):
    labels = [{"a": 0.9, "b": 0.1}, {"a": 0, "b": 1}]
    path = tmp_path / f"rows{suffix}"
    if suffix == ".csv":
        write_csv(path, *((f"text {index}", json.dumps(each)) for index, each in enumerate(labels)))
    else:
        path.write_text("".join(f"{json.dumps({'text': 'x', 'label': each})}\n" for each in labels))
    with pytest.raises(DataError, match="field 'label': has probabilities of labels, which only training reads"):
        read_labelled(path, options=ReadOptions(labels=("a", "b"), task_type="classification"))


def test_empty_labels_that_probabilities_replace_are_counted_beside_labels(tmp_path, caplog):
    rows = [("one", "a|b", ""), ("two", "", '{"a": 0.9, "b": 0.6}'), ("three", "a|c", "")]
    with caplog.at_level("INFO", "litebert.tasks"):
        read_labelled(
            write_csv(tmp_path / "rows.csv", *rows, columns=("text", "label", "probabilities")), options=TRAINING
        )
    assert "1 rows whose 'label' is empty, or -1, are trained on their 'probabilities'" in caplog.text


def test_a_label_of_minus_one_beside_another_kind_of_text_is_a_label(tmp_path):
    rows = [("one", -1, "{'-1': 0.9, '1': 0.1}"), ("two", 0, "{'-1': 0.1}"), ("three", 1, "{'1': 0.8}")]
    path = write_csv(tmp_path / "rows.csv", *rows, columns=("text", "label", "probabilities"))
    data = read_labelled(path, options=TRAINING)
    assert (data.labels, [example.target for example in data.examples]) == (("-1", "0", "1"), [0, 1, 2])


def test_probabilities_a_millionth_beyond_0_and_1_are_0_and_1(tmp_path):
    data = read_labelled(
        write_csv(tmp_path / "rows.csv", *[(text, '{"a": 1.0000001, "b": -1e-8}') for text in ("one", "two")]),
        options=TRAINING,
    )
    assert data.examples[0].soft_label == (1.0, 0.0)
