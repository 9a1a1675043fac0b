"""Labelled data in memory become the same rows, whatever holds them."""

import datetime
from pathlib import Path

import numpy as np
import pytest

from litebert.api.data_sources import DataSource
from litebert.errors import DataError
from litebert.tasks.readers.tables import Table

ROWS = [{"text": "the film was good", "label": 1}, {"text": "the film was dull", "label": 0}]
TEXTS, LABELS = [row["text"] for row in ROWS], [row["label"] for row in ROWS]


def frame(library):
    return pytest.importorskip(library).DataFrame(ROWS)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: (TEXTS, LABELS),
        lambda: {"text": TEXTS, "label": LABELS},
        lambda: frame("pandas"),
        lambda: frame("polars"),
        lambda: pytest.importorskip("pyarrow").Table.from_pylist(ROWS),
        lambda: dict(zip(("text", "label"), map(pytest.importorskip("pyarrow").array, (TEXTS, LABELS)), strict=True)),
        lambda: tuple(map(pytest.importorskip("pyarrow").array, (TEXTS, LABELS))),
        lambda: pytest.importorskip("datasets").Dataset.from_list(ROWS),
    ],
    ids=["rows", "texts and labels", "columns", "pandas", "polars", "pyarrow", "arrays", "two arrays", "datasets"],
)
def test_data_in_memory_are_the_same_rows(make):
    assert DataSource.of(make(), "train").rows == ROWS


def test_class_labels_of_a_data_set_are_read_by_name():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    source = DataSource.of(datasets.Dataset.from_list(ROWS, features=features), "train")
    assert [row["label"] for row in source.rows] == ["good", "bad"]


def test_missing_values_of_a_data_frame_are_null():
    data = pytest.importorskip("pandas").DataFrame({"text": ["good", "bad"], "stars": [4.5, float("nan")]})
    assert DataSource.of(data, "train").rows[1] == {"text": "bad", "stars": None}


def test_rows_have_the_columns_of_all_rows_and_null_where_one_is_missing():
    source = DataSource.of([{"text": "a", "label": 1}, {"text_pair": "c", "text": "b", "label": 0}], "train")
    assert source.to_table().columns == ("text", "label", "text_pair")
    assert source.json_lines.splitlines()[0] == '{"text": "a", "label": 1, "text_pair": null}'


def test_missing_values_of_rows_are_null_as_those_of_their_data_frame():
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"text": ["good", float("nan")], "when": [pandas.NaT, pandas.NA]}, dtype=object)
    rows = DataSource.of(data.to_dict("records"), "train").rows
    assert rows == DataSource.of(data, "train").rows == [{"text": "good", "when": None}, {"text": None, "when": None}]
    assert DataSource.of([{"stars": np.float32("nan")}], "train").rows == [{"stars": None}]


def test_two_columns_of_a_data_frame_with_one_name_are_refused():
    data = pytest.importorskip("pandas").DataFrame([["a", "b", 1]], columns=["text", "text", "label"])
    with pytest.raises(DataError, match=r"train: two columns have the same name; rename one \(text, text, label\)"):
        DataSource.of(data, "train")


def test_texts_and_labels_may_be_iterators():
    assert DataSource.of((iter(TEXTS), iter(LABELS)), "train").rows == ROWS


def test_a_stream_that_does_not_know_its_features_is_read():
    class Stream:
        features = column_names = None

        def __iter__(self):
            return iter(ROWS)

    assert DataSource.of(Stream(), "train").rows == ROWS


def test_pairs_of_texts_have_two_columns():
    assert DataSource.of([("a film", "a movie")], "data").rows == [{"text": "a film", "text_pair": "a movie"}]


def test_rows_are_written_once_into_a_file_named_by_their_content(tmp_path):
    first, again = (DataSource.of(rows, "train").to_file(tmp_path) for rows in (ROWS, [dict(row) for row in ROWS]))
    other = DataSource.of(ROWS[:1], "train").to_file(tmp_path)
    assert first == again != other
    assert len(first.read_text().splitlines()) == 2


def test_half_of_a_surrogate_pair_in_a_row_is_refused_before_a_file_is_written(tmp_path):
    with pytest.raises(DataError, match="train:2: has half of a surrogate pair"):
        DataSource.of([ROWS[0], {"text": "\ud800", "label": 1}], "train").to_file(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_source_keeps_a_path_as_it_is(tmp_path):
    assert DataSource.of("labelled.csv", "train").to_file(tmp_path) == Path("labelled.csv")


def test_a_data_set_of_the_hub_is_read_by_its_name(monkeypatch):
    rows = Table(Path("hf:owner/name:train"), ("text",), ())
    monkeypatch.setattr("litebert.tasks.readers.hub_tables.hub_table", lambda path: rows)
    assert DataSource.of("hf:owner/name:train", "data").to_table() is rows


def test_splits_of_a_data_set_are_named():
    datasets = pytest.importorskip("datasets")
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_list(ROWS)})
    with pytest.raises(DataError, match=r"found the splits train; give one of them, such as data\['train'\]"):
        DataSource.of(splits, "train")


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        lambda texts: pytest.importorskip("pandas").Series(texts),
        lambda texts: pytest.importorskip("pyarrow").array(texts),
        lambda texts: pytest.importorskip("pyarrow").chunked_array([texts]),
    ],
)
def test_data_source_takes_an_array_or_a_series_as_texts(make):
    assert DataSource.of(make(TEXTS), "data").rows == [{"text": text} for text in TEXTS]


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_texts_of_a_series_or_list_are_null_as_those_of_a_data_frame(missing):
    pandas = pytest.importorskip("pandas")
    texts = ["good", missing]
    expected = DataSource.of(pandas.DataFrame({"text": texts}), "data").rows
    assert DataSource.of(texts, "data").rows == DataSource.of(pandas.Series(texts), "data").rows == expected
    labelled = DataSource.of((pandas.Series(texts), [1, 0]), "train").rows
    assert labelled == [{"text": "good", "label": 1}, {"text": None, "label": 0}]
    assert DataSource.of([("good", missing)], "data").rows == [{"text": "good", "text_pair": None}]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_labels_become_lists_in_alphabetical_order(kind):
    names = [f"label {letter}" for letter in "abcdefgh"]
    assert DataSource.of((["good"], [kind(names[::-1])]), "train").rows == [{"text": "good", "label": names}]


def test_dates_in_a_list_are_texts_as_in_a_file():
    rows = [{"text": ["on", datetime.date(2026, 1, 2), None], "label": np.array([1, 0, 1])}]
    assert DataSource.of(rows, "data").rows == [{"text": ["on", "2026-01-02", None], "label": [1, 0, 1]}]


def test_two_rows_in_a_tuple_are_rows():
    rows = ({"text": "good", "label": 1}, {"text": "bad", "label": 0})
    assert DataSource.of(rows, "train").rows == DataSource.of(list(rows), "train").rows


def test_dates_become_texts(tmp_path):
    rows = [{"text": "good", "when": datetime.date(2026, 11, 22)}]
    assert '"2026-11-22"' in DataSource.of(rows, "train").to_file(tmp_path).read_text()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "train: no rows"),
        (7, "train: found int; expected a path, rows"),
        ([3], "train: found a int among the rows"),
        ((["one"], [1, 0]), "train: 1 texts and 2 labels"),
        ({"text": TEXTS, "label": [1]}, "train: columns of different lengths \\(2 of 'text', 1 of 'label'\\)"),
        ("a good film", "train: found the text 'a good film'; put it into a list"),
        ("I rate it 9.5", "train: found the text 'I rate it 9.5'; put it into a list"),
        ("A film. We liked it", "train: found the text 'A film. We liked it'; put it into a list"),
        ("A film. " * 100, "train: found the text 'A film. .*; put it into a list"),
        ("half of a pair \ud800.so/far", "train: found the text 'half of a pair"),
        (f"{'A film. ' * 100}again.so", "train: found the text 'A film. .*; put it into a list"),
        (f"{'A film. ' * 100}and/or again.so", "train: found the text 'A film. .*; put it into a list"),
        ({"text": "good", "label": "pos"}, "train: column 'text' is a str, expected a list with a value"),
        ({"text": ["good"], "label": 1}, "train: column 'label' is a int, expected a list with a value"),
        ((3, 4), "train: found a int among the rows"),
        ((["one", "two"], None), "train: found .texts, None."),
        ([*ROWS, {"text": b"one"}], r"train: row 3 \(counted from 1\): field 'text': expected a text .*, found bytes"),
        ((["one"], [["x", b"y"]]), r"train: row 1 \(counted from 1\): field 'label': .*; decode them"),
        ({"text": np.array([b"one"])}, r"train: row 1 .*field 'text': expected a text or a number, found bytes"),
    ],
)
def test_other_data_are_refused(data, message):
    with pytest.raises(DataError, match=message):
        DataSource.of(data, "train")
