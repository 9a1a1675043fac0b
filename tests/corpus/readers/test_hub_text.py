import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents, total_bytes
from litebert.errors import DataError, MissingExtraError
from litebert.hub_datasets import DatasetName, stream_rows


@pytest.fixture
def datasets():
    return pytest.importorskip("datasets", reason="the extra [datasets] is not installed")


def sentences(name, counts=None, **settings):
    files = find_files([name])
    settings = CorpusSettings(**settings)
    documents = read_documents(files, settings, Counter() if counts is None else counts)
    return [document.sentences for document in documents]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("hf:wikitext", ("wikitext", None, None)),
        ("hf:owner/name", ("owner/name", None, None)),
        ("hf:owner/name:test", ("owner/name", None, "test")),
        ("hf:owner/name/config-v1:validation[:10%]", ("owner/name", "config-v1", "validation[:10%]")),
    ],
)
def test_dataset_name_has_a_path_a_config_and_a_split(name, parts):
    assert DatasetName.parse(name) == DatasetName(*parts)


def test_dataset_name_of_an_existing_directory_has_no_config(tmp_path):
    assert DatasetName.parse(f"hf:{tmp_path}:test") == DatasetName(str(tmp_path), None, "test")


def test_dataset_rows_become_documents(tmp_path, datasets):
    datasets.Dataset.from_dict({"text": ["A b.\nC d.", "", "E."]}).save_to_disk(str(tmp_path / "set"))
    counts = Counter()
    assert sentences(f"hf:{tmp_path / 'set'}", counts) == [("A b.", "C d."), ("E.",)]
    assert counts == {"empty documents": 1, "documents read": 2, "files read": 1, "lines cut": 0}


def test_dataset_split_is_read_by_name(tmp_path, datasets):
    splits = {name: datasets.Dataset.from_dict({"story": [name]}) for name in ("train", "test")}
    datasets.DatasetDict(splits).save_to_disk(str(tmp_path / "set"))
    assert sentences(f"hf:{tmp_path / 'set'}:test", text_key="story") == [("test",)]
    with pytest.raises(DataError, match="cannot be loaded"):
        sentences(f"hf:{tmp_path / 'set'}:dev")


@pytest.mark.parametrize(("saved", "found"), [(None, "a data set without splits"), ("test", "only the split test")])
def test_dataset_of_one_split_is_not_read_as_another(tmp_path, monkeypatch, saved, found):
    """With a stand-in for `datasets`, which loads what `Dataset.save_to_disk` wrote."""

    class Rows(list):
        split = saved

    library = SimpleNamespace(
        load_from_disk=lambda path: Rows([{"text": "A."}]), exceptions=SimpleNamespace(DatasetsError=ValueError)
    )
    monkeypatch.setitem(sys.modules, "datasets", library)
    (tmp_path / "state.json").write_text("{}")
    assert list(stream_rows(f"hf:{tmp_path}")) == [{"text": "A."}]
    if saved:
        assert list(stream_rows(f"hf:{tmp_path}:{saved}")) == [{"text": "A."}]
    with pytest.raises(DataError, match=f":dev: the directory has {found}; give hf:"):
        list(stream_rows(f"hf:{tmp_path}:dev"))


def test_dataset_of_csv_files_is_streamed(tmp_path, datasets):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train.csv").write_text("text\none\ntwo\n")
    assert sentences(f"hf:{tmp_path / 'set'}") == [("one",), ("two",)]


def test_dataset_row_without_text_is_refused_with_its_number(tmp_path, datasets):
    datasets.Dataset.from_dict({"text": ["a", None]}).save_to_disk(str(tmp_path / "set"))
    with pytest.raises(DataError, match=r"set:2: expected text under 'text', found NoneType"):
        sentences(f"hf:{tmp_path / 'set'}")


def test_dataset_that_cannot_be_loaded_is_a_data_error(datasets, monkeypatch):
    def unreachable(*arguments, **settings):
        raise ConnectionError("Couldn't reach the hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"hf:owner/name: cannot be loaded .*network, or download it"):
        list(stream_rows("hf:owner/name"))


def test_dataset_without_the_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[datasets\]"):
        list(stream_rows("hf:owner/name"))


def test_find_files_sorts_datasets_after_files_and_their_size_is_unknown(tmp_path):
    (tmp_path / "z.txt").write_text("a")
    files = find_files(["hf:b", "hf:a", tmp_path / "z.txt", "hf:b"])
    assert [str(file) for file in files] == [str(tmp_path / "z.txt"), "hf:a", "hf:b"]
    assert total_bytes(files) == 0
    assert total_bytes(files[:1]) == 1
