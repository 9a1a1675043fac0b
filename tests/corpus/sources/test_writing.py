"""Documents to one text file."""

import gzip
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import read_documents
from litebert.corpus.sources.writing import write_documents
from litebert.errors import ConfigError, DataError

PARAGRAPHS = ("", " ", "a", "b  c", "d\ne", "\u2028", "f\x85", "\u200b", "\ufeff \u200b")
BLANK = " \n\u2028\u200b\ufeff"


def no_text(paragraphs) -> bool:
    return not any(paragraph and paragraph.strip(BLANK) for paragraph in paragraphs)


@given(paragraphs=st.lists(st.sampled_from([None, *PARAGRAPHS]), max_size=12))
def test_write_documents_writes_what_read_documents_reads(tmp_path_factory, paragraphs):
    file = tmp_path_factory.mktemp("written") / "out.txt"
    if no_text(paragraphs):
        with pytest.raises(DataError, match="has no text"):
            write_documents(paragraphs, file, Counter())
        return
    report = write_documents(paragraphs, file, Counter())
    read = [document.sentences for document in read_documents([file], CorpusSettings(), Counter())]
    groups = [[]]
    for paragraph in paragraphs:
        if paragraph is None:
            groups.append([])
        elif paragraph.strip(BLANK):
            groups[-1].append(" ".join(paragraph.split()))
    assert read == [tuple(group) for group in groups if group]
    assert report.documents == len(read)
    assert report.paragraphs == sum(map(len, read))
    assert report.text_bytes == sum(len(paragraph.encode()) for document in read for paragraph in document)


def test_write_documents_compresses_reproducibly(tmp_path):
    for name in ("a.txt.gz", "b.txt.gz"):
        write_documents(["one", None], tmp_path / name, Counter(kept=1, nothing=0))
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == b"one\n"
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


def test_half_a_surrogate_pair_is_replaced_and_counted(tmp_path):
    report = write_documents(["a\ud800b", "c"], tmp_path / "a.txt", Counter())
    assert (tmp_path / "a.txt").read_text() == "a\ufffdb\nc\n"
    assert (report.text_bytes, report.counts) == (6, {"lines repaired": 1})


def test_report_has_no_counts_of_zero(tmp_path):
    report = write_documents(["one"], tmp_path / "a.txt", Counter(kept=1, nothing=0))
    assert report.counts == {"kept": 1}
    assert report.to_text().endswith("a.txt: 1 documents, 1 paragraphs, 0.0 MB of text\nkept: 1")


@pytest.mark.parametrize("name", ["a.json", "there.txt"])
def test_validate_output_refuses_existing_files_and_other_endings(tmp_path, name):
    (tmp_path / "there.txt").write_text("mine")
    with pytest.raises(ConfigError, match=name):
        write_documents(["one"], tmp_path / name, Counter())
    assert (tmp_path / "there.txt").read_text() == "mine"


def test_write_documents_leaves_no_incomplete_file(tmp_path):
    def broken():
        yield "one"
        raise DataError("the source broke")

    with pytest.raises(DataError, match="the source broke"):
        write_documents(broken(), tmp_path / "a.txt", Counter())
    assert list(tmp_path.iterdir()) == []
