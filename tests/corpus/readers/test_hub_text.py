import sys
from collections import Counter

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


def test_dataset_without_splits_is_not_read_as_another_split(tmp_path, datasets):
    rows = {"text": ["A."]}
    datasets.Dataset.from_dict(rows).save_to_disk(str(tmp_path / "none"))
    datasets.Dataset.from_dict(rows, split="test").save_to_disk(str(tmp_path / "test"))
    with pytest.raises(DataError, match=r"none:test: the directory has a data set without splits; give hf:"):
        sentences(f"hf:{tmp_path / 'none'}:test")
    assert sentences(f"hf:{tmp_path / 'test'}:test") == sentences(f"hf:{tmp_path / 'test'}") == [("A.",)]
    with pytest.raises(DataError, match=r"test:train: the directory has only the split test"):
        sentences(f"hf:{tmp_path / 'test'}:train")


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
