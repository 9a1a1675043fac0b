import gzip
import json
import logging
import os
from collections import Counter

import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.decompression import ZSTD
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.errors import DataError

zstd = pytest.importorskip(ZSTD)

TEXT = b"One.\nTwo.\n\nThree.\n"
ROWS = b'{"text": "One.\\nTwo."}\n\n{"text": "Three."}\n'


def read(path, **settings):
    counts: Counter[str] = Counter()
    documents = list(read_documents([path], CorpusSettings(**settings), counts))
    return [document.sentences for document in documents], +counts


FORMATS = {
    "a.txt": TEXT,
    "a.txt.gz": gzip.compress(TEXT),
    "a.txt.zst": zstd.compress(TEXT),
    "a.jsonl": ROWS,
    "a.jsonl.gz": gzip.compress(ROWS),
    "a.jsonl.zst": zstd.compress(ROWS),
}


@pytest.mark.parametrize("name", FORMATS)
def test_read_documents_is_the_same_for_every_format(tmp_path, name):
    (tmp_path / name).write_bytes(FORMATS[name])
    assert read(tmp_path / name)[0] == [("One.", "Two."), ("Three.",)]


def test_read_documents_can_take_a_file_as_one_document(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT)
    assert read(tmp_path / "a.txt", documents="file")[0] == [("One.", "Two.", "Three.")]


def test_text_key_selects_the_text(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "One."}))
    assert read(tmp_path / "a.jsonl", text_key="body")[0] == [("One.",)]


def test_read_documents_names_documents_by_file_and_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT)
    documents = read_documents([tmp_path / "a.txt"], CorpusSettings(), Counter())
    assert [document.name for document in documents] == [f"{tmp_path}/a.txt:1", f"{tmp_path}/a.txt:4"]


def test_read_documents_cuts_and_counts_documents_larger_than_a_shard(tmp_path):
    (tmp_path / "a.txt").write_text("abcd\n" * 10)
    documents, counts = read(tmp_path / "a.txt", shard_bytes=16)
    assert [len(document) for document in documents] == [4, 4, 2]
    assert counts["document parts"] == 2


def test_read_documents_does_not_cut_a_document_that_fits_exactly(tmp_path):
    (tmp_path / "a.txt").write_text("abcd\n" * 4 + "\nabcd")
    documents, counts = read(tmp_path / "a.txt", shard_bytes=16)
    assert [len(document) for document in documents] == [4, 1]
    assert counts["document parts"] == 0


def test_find_files_returns_files_once_in_the_order_of_paths(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("b.txt", "a.txt", "deep/c.jsonl", "notes.pdf", ".hidden.txt"):
        (tmp_path / name).write_text("x")
    found = find_files([tmp_path / "b.txt", str(tmp_path / "*.txt"), tmp_path])
    assert [path.name for path in found if not path.name.startswith(".")] == ["a.txt", "b.txt", "c.jsonl"]
    assert [path.name for path in find_files([tmp_path])] == ["a.txt", "b.txt", "c.jsonl"]


def test_find_files_follows_links_to_directories_and_ends(tmp_path):
    for name in ("text/real", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("text/a.txt", "text/real/r.txt", "elsewhere/b.txt"):
        (tmp_path / name).write_text("x")
    links = {
        "text/linked": "elsewhere",
        "text/again": "elsewhere",
        "elsewhere/round": "text",
        "text/.hidden": "text/real",
    }
    for link, target in {**links, "text/before": "text/real"}.items():
        (tmp_path / link).symlink_to(tmp_path / target)
    found = [path.relative_to(tmp_path / "text").as_posix() for path in find_files([tmp_path / "text"])]
    assert found == ["a.txt", "again/b.txt", "real/r.txt"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*", ["a.txt", "b.txt"]), ("**", ["a.txt", "b.txt"]), ("**/*", ["a.txt", "b.txt"]), ("**/deep", ["b.txt"])],
)
def test_find_files_reads_directories_that_a_pattern_matches(tmp_path, pattern, names):
    for folder in ("deep", "pictures"):
        (tmp_path / folder).mkdir()
    for name in ("a.txt", "deep/b.txt"):
        (tmp_path / name).write_text("x")
    assert [path.name for path in find_files([tmp_path / pattern])] == names
    with pytest.raises(DataError, match="matches directories without text files only; expected files ending in"):
        find_files([tmp_path / "pic*"])


def test_find_files_counts_and_logs_files_of_unknown_format(tmp_path, caplog):
    for name in ("a.txt", "notes.pdf", ".hidden"):
        (tmp_path / name).write_text("x")
    counts: Counter[str] = Counter()
    with caplog.at_level(logging.WARNING):
        assert [path.name for path in find_files([tmp_path], counts)] == ["a.txt"]
    assert counts == {"files of unknown format": 1}
    assert "1 files of unknown format are not read, such as " in caplog.text


def test_the_case_of_an_ending_does_not_matter(tmp_path):
    for name in ("A.TXT", "b.Jsonl", "C.TXT.GZ"):
        content = b'{"text": "a film"}\n' if name == "b.Jsonl" else b"a film\n"
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("GZ") else content)
    documents = read_documents(find_files([tmp_path]), CorpusSettings(), Counter())
    assert [each.text() for each in documents] == ["a film"] * 3
    assert [path.name for path in find_files([tmp_path])] == ["A.TXT", "C.TXT.GZ", "b.Jsonl"]
    assert [path.name for path in find_files([tmp_path / "A.TXT"])] == ["A.TXT"]


def test_find_files_returns_a_file_given_twice_once(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert len(find_files(["a.txt", tmp_path / "a.txt", f"../{tmp_path.name}/*.txt"])) == 1


@pytest.mark.parametrize("name", ["missing.txt", "*.txt"])
def test_find_files_refuses_a_path_that_matches_nothing(tmp_path, name):
    with pytest.raises(DataError, match="no such file"):
        find_files([tmp_path / name])


def test_find_files_refuses_a_directory_without_text(tmp_path):
    with pytest.raises(DataError, match="no text files in this directory"):
        find_files([tmp_path])


@pytest.mark.parametrize("pattern", ["a.pdf", "*.pdf"])
def test_find_files_refuses_an_unknown_format(tmp_path, pattern):
    (tmp_path / "a.pdf").write_text("x")
    with pytest.raises(DataError, match="unknown file format"):
        find_files([tmp_path / pattern])


@pytest.mark.parametrize("content", [b"", b"\n\n\n", b"\xef\xbb\xbf"])
def test_read_documents_counts_and_logs_files_without_text(tmp_path, caplog, content):
    (tmp_path / "a.txt").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        documents, counts = read(tmp_path / "a.txt")
    assert documents == []
    assert counts["files without text"] == 1
    assert "no text in this file" in caplog.text


def test_directory_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("a\n")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=r"sub: cannot be read \(Permission denied\)"):
        find_files([tmp_path], Counter())
