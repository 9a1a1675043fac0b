"""Checks of a finished build: empty validation split, unknown tokens."""

import logging

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document
from litebert.errors import DataError

SETTINGS = CorpusSettings(sentences="line", validation_fraction=0)


def test_build_corpus_refuses_an_empty_validation_split(tmp_path, tokenizer, documents):
    settings = SETTINGS.replace(validation_fraction=1e-9)
    with pytest.raises(DataError, match=r"the validation split has no documents \(validation_fraction 1e-09 of 60 "):
        build_corpus(documents, tokenizer, settings, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_build_corpus_refuses_validation_files_without_tokens(tmp_path, tokenizer, documents):
    with pytest.raises(DataError, match="the validation split has no documents"):
        build_corpus(documents, tokenizer, SETTINGS, tmp_path / "corpus", validation=[Document("empty", ("\u0301",))])


def test_build_corpus_can_have_a_validation_split_only(tmp_path, tokenizer, documents):
    report = build_corpus([], tokenizer, SETTINGS, tmp_path / "corpus", validation=documents)
    assert (report.splits["train"].documents, report.splits["validation"].documents) == (0, 60)


@pytest.mark.parametrize(
    ("text", "script"),
    [("我们今天去公园散步。", "Han"), ("Мама мыла раму.", "Cyrillic"), ("Bado \U0001f600.", "Latin")],
)
def test_build_corpus_warns_of_unknown_tokens_and_names_the_script(tmp_path, tokenizer, caplog, text, script):
    with caplog.at_level(logging.WARNING):
        build_corpus([Document("text", (text,) * 5)], tokenizer, SETTINGS, tmp_path / "corpus")
    assert f"% of the tokens are unknown, because the vocabulary does not fit the text, which is mostly {script}" in (
        caplog.text
    )


def test_build_corpus_does_not_warn_of_few_unknown_tokens(tmp_path, tokenizer, documents, caplog):
    with caplog.at_level(logging.WARNING):
        build_corpus([*documents, Document("emoji", ("\U0001f600",))], tokenizer, SETTINGS, tmp_path / "corpus")
    assert "unknown" not in caplog.text
