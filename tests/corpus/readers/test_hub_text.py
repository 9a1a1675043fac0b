import sys
from collections import Counter

import pytest

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents, total_bytes
from litebert.corpus.readers.hub_text import parts_of, rows_of
from litebert.errors import DataError, MissingExtraError


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
        ("hf:wikitext", ("wikitext", None, "train")),
        ("hf:owner/name", ("owner/name", None, "train")),
        ("hf:owner/name:test", ("owner/name", None, "test")),
        ("hf:owner/name/config-v1:validation[:10%]", ("owner/name", "config-v1", "validation[:10%]")),
    ],
)
def test_a_name_has_a_place_a_config_and_a_split(name, parts):
    assert parts_of(name) == parts


def test_a_directory_that_exists_is_taken_whole(tmp_path):
    assert parts_of(f"hf:{tmp_path}:test") == (str(tmp_path), None, "test")


def test_a_saved_data_set_gives_the_documents_of_its_rows(tmp_path, datasets):
    datasets.Dataset.from_dict({"text": ["A b.\nC d.", "", "E."]}).save_to_disk(str(tmp_path / "set"))
    counts = Counter()
    assert sentences(f"hf:{tmp_path / 'set'}", counts) == [("A b.", "C d."), ("E.",)]
    assert counts == {"empty documents": 1, "documents read": 2, "files read": 1, "lines cut": 0}


def test_one_split_of_several_is_read(tmp_path, datasets):
    splits = {name: datasets.Dataset.from_dict({"story": [name]}) for name in ("train", "test")}
    datasets.DatasetDict(splits).save_to_disk(str(tmp_path / "set"))
    assert sentences(f"hf:{tmp_path / 'set'}:test", text_key="story") == [("test",)]
    with pytest.raises(DataError, match="could not be loaded"):
        sentences(f"hf:{tmp_path / 'set'}:dev")


def test_files_that_the_library_knows_are_streamed(tmp_path, datasets):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train.csv").write_text("text\none\ntwo\n")
    assert sentences(f"hf:{tmp_path / 'set'}") == [("one",), ("two",)]


def test_a_row_without_text_is_refused_with_its_number(tmp_path, datasets):
    datasets.Dataset.from_dict({"text": ["a", None]}).save_to_disk(str(tmp_path / "set"))
    with pytest.raises(DataError, match=r"set:2: expected text under 'text', found NoneType"):
        sentences(f"hf:{tmp_path / 'set'}")


def test_a_hub_out_of_reach_is_an_error_in_words(datasets, monkeypatch):
    def unreachable(*arguments, **settings):
        raise ConnectionError("Couldn't reach the hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"hf:owner/name: could not be loaded .*network, or download it"):
        list(rows_of("hf:owner/name"))


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[datasets\]"):
        list(rows_of("hf:owner/name"))


def test_data_sets_come_after_files_and_make_the_size_unknown(tmp_path):
    (tmp_path / "z.txt").write_text("a")
    files = find_files(["hf:b", "hf:a", tmp_path / "z.txt", "hf:b"])
    assert [str(file) for file in files] == [str(tmp_path / "z.txt"), "hf:a", "hf:b"]
    assert total_bytes(files) == 0
    assert total_bytes(files[:1]) == 1
