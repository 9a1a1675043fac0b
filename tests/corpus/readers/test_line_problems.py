"""Damaged lines: few are repaired with one warning for all files, many are an error."""

import logging
from collections import Counter

import pytest

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import read_documents
from litebert.errors import DataError


def documents(directory, *contents, **settings):
    """The documents of files with these contents, and the counts."""
    counts, files = Counter(), [directory / f"{number}.txt" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return list(read_documents(files, CorpusSettings(**settings), counts)), counts


def lines(*, good, damaged):
    return b"good\n" * good + b"sch\xf6n\n" * damaged


@pytest.mark.parametrize(
    "contents",
    [
        [lines(good=0, damaged=9)],
        [lines(good=990, damaged=10)],
        [lines(good=1000, damaged=5), lines(good=0, damaged=5)],
    ],
)
def test_few_damaged_lines_are_repaired(tmp_path, contents):
    _, counts = documents(tmp_path, *contents)
    assert counts["lines repaired"] == b"".join(contents).count(b"\xf6")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ([lines(good=0, damaged=10)], r"0\.txt:1: 10 of 10 lines, this one first"),
        ([lines(good=989, damaged=10)], r"0\.txt:990: 10 of 999 lines"),
        ([lines(good=9000, damaged=0), lines(good=1, damaged=11)], r"1\.txt:2: 11 of 12 lines"),
        ([lines(good=1, damaged=1)] * 10, r"0\.txt:2: 10 of 20 lines"),
    ],
)
def test_many_damaged_lines_of_a_file_or_of_the_files_so_far_are_an_error(tmp_path, contents, message):
    expected = message + r".* are not UTF-8; name the encoding of the files, such as --encoding cp1252 .*--encoding gbk"
    with pytest.raises(DataError, match=expected):
        documents(tmp_path, *contents)


def test_many_damaged_lines_are_repaired_if_told(tmp_path):
    _, counts = documents(tmp_path, lines(good=0, damaged=50), invalid_utf8="replace")
    assert counts["lines repaired"] == 50


def test_halves_of_surrogate_pairs_say_nothing_about_the_encoding(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a\\ud800"}\n' * 20)
    counts = Counter()
    list(read_documents([tmp_path / "a.jsonl"], CorpusSettings(), counts))
    assert counts["lines repaired"] == 20


def test_repaired_lines_of_several_files_are_one_warning(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        documents(tmp_path, b"good\n", lines(good=1, damaged=2), lines(good=0, damaged=3))
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path}/1.txt:2: lines repaired (5 in 2 files, first here); what cannot be decoded")


def test_files_in_another_encoding_are_read_with_its_name(tmp_path):
    read, counts = documents(tmp_path, lines(good=0, damaged=50), encoding="latin-1")
    assert read[0].sentences[0] == "schön"
    assert "lines repaired" not in counts


def test_japanese_text_under_the_name_of_latin_1_is_an_error(tmp_path):
    text = "今日は天気がよいので、公園を散歩した。\n".encode("shift_jis")
    with pytest.raises(DataError, match=r"lines, this one first, have bytes that are not CP1252"):
        documents(tmp_path, text * 40, encoding="latin-1")
