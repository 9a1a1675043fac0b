"""Tables of the hub through a stand-in for `datasets`, which needs the network."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from litebert.errors import DataError, MissingExtraError
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.hub_tables import hub_table

NAMES = SimpleNamespace(int2str=lambda index: ("no", "yes")[index])
EXCEPTIONS = SimpleNamespace(DatasetsError=ValueError)
TAGS = SimpleNamespace(feature=SimpleNamespace(int2str=lambda index: ("O", "B-X")[index]))


class Loaded(list):
    features = {"text": object(), "label": NAMES, "words": object(), "tags": TAGS}  # noqa: RUF012
    column_names = ("text", "label", "words", "tags")


@pytest.fixture
def datasets(monkeypatch):
    """The calls that the stand-in gets, and the rows that it gives."""
    calls, rows = (
        [],
        [
            {"text": "a", "label": 1, "words": ["Ann", "sings"], "tags": [1, 0]},
            {"text": "b", "label": 0, "words": ["so"], "tags": [0]},
        ],
    )

    def load_dataset(place, config, *, split):
        calls.append((place, config, split))
        if split == "nowhere":
            raise ValueError("Unknown split\n'nowhere'")
        return Loaded(rows)

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset, exceptions=EXCEPTIONS))
    return SimpleNamespace(calls=calls, rows=rows)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("hf:imdb", ("imdb", None, "train")),
        ("hf:stanfordnlp/imdb:test", ("stanfordnlp/imdb", None, "test")),
        ("hf:nyu-mll/glue/mrpc:validation", ("nyu-mll/glue", "mrpc", "validation")),
    ],
)
def test_hub_name_has_data_set_configuration_and_split(datasets, name, call):
    data = read_labelled(Path(name))
    assert datasets.calls == [call]
    assert (data.task_type, data.labels) == ("classification", ("no", "yes"))
    assert [(each.text, each.target) for each in data.examples] == [("a", 1), ("b", 0)]


def test_hub_lists_of_labels_are_named(datasets):
    data = read_labelled(Path("hf:conll"), Columns(text="words", label="tags"))
    assert (data.task_type, data.labels, data.examples[0].target) == ("token_classification", ("O", "B-X"), (1, 0))


def test_hub_row_without_a_label_is_an_error_with_its_number(datasets):
    datasets.rows[1]["label"] = -1
    with pytest.raises(DataError, match=r"hf:x:test:2: field 'label': the label is empty"):
        read_labelled(Path("hf:x:test"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf::train", "expected hf:OWNER/NAME, optionally followed"),
        ("hf:imdb:nowhere", "cannot be loaded .Unknown split 'nowhere'.; check name"),
    ],
)
def test_hub_name_that_is_invalid_is_an_error(datasets, name, message):
    with pytest.raises(DataError, match=message):
        hub_table(Path(name))


def test_hub_table_reads_a_local_directory(datasets, tmp_path):
    read_labelled(Path(f"hf:{tmp_path}:test"))
    assert datasets.calls == [(str(tmp_path), None, "test")]


def test_hub_split_without_rows_is_an_error(datasets):
    datasets.rows.clear()
    with pytest.raises(DataError, match="no rows; give a split with at least one"):
        hub_table(Path("hf:imdb"))


def test_hub_table_without_the_extra_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[datasets\]"):
        hub_table(Path("hf:imdb"))
