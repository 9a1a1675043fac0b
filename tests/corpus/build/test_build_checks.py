"""Checks of a finished build: empty splits, unknown tokens."""

import logging

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document
from litebert.errors import DataError
from support.data.corpus_builders import prose

SETTINGS = CorpusSettings(sentences="line", validation_fraction=0)


def test_build_corpus_refuses_an_empty_validation_split(tmp_path, tokenizer, documents):
    settings = SETTINGS.replace(validation_fraction=1e-9, shard_bytes=2000)
    found = r"the validation split has no documents \(documents: 60, validation_fraction: 1e-09\); raise "
    with pytest.raises(DataError, match=rf"{found}validation_fraction to 0.08 or more; or give validation files"):
        build_corpus(documents, tokenizer, settings, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_build_corpus_takes_a_document_for_validation_if_the_fraction_has_none(tmp_path, tokenizer, documents):
    settings = SETTINGS.replace(validation_fraction=1e-9)
    report = build_corpus(documents, tokenizer, settings, tmp_path / "corpus")
    assert (report.splits["train"].documents, report.splits["validation"].documents) == (59, 1)


@pytest.mark.parametrize("shard_bytes", [2000, 2**20])
@pytest.mark.parametrize(
    ("documents", "advice"),
    [
        (
            "blank_line",
            "a document of a text file ends at a blank line .* set --documents line if every line is one",
        ),
        ("line", "every line of a text file is a document .* give files of more lines"),
        ("file", "a text file is one document .* set --documents blank_line"),
    ],
)
@pytest.mark.parametrize(("fraction", "split"), [(1e-9, "validation"), (1 - 1e-9, "train")])
def test_build_corpus_explains_layouts_if_there_are_few_documents(
    tmp_path, tokenizer, shard_bytes, documents, advice, fraction, split
):
    (tmp_path / "one.txt").write_text(" ".join(prose(200, seed=1)))
    settings = SETTINGS.replace(validation_fraction=fraction, documents=documents, shard_bytes=shard_bytes)
    with pytest.raises(DataError, match=rf"the {split} split has no documents \(documents: 1, .*{advice}"):
        build_corpus(tmp_path / "one.txt", tokenizer, settings, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_build_corpus_refuses_an_empty_training_split(tmp_path, tokenizer, documents):
    settings = SETTINGS.replace(validation_fraction=1 - 1e-9)
    found = r"the train split has no documents \(documents: 60, .*; lower validation_fraction to 0.9 or less; or set "
    with pytest.raises(DataError, match=f"{found}--validation-fraction 0, with --validation"):
        build_corpus(documents, tokenizer, settings, tmp_path / "corpus")


@pytest.mark.parametrize("fraction", [0, 0.01])
def test_build_corpus_refuses_training_files_without_tokens(tmp_path, tokenizer, documents, fraction):
    settings, empty = SETTINGS.replace(validation_fraction=fraction), Document("empty", ("\u0301",))
    with pytest.raises(DataError, match=r"the train split has no documents .*; its files have no text"):
        build_corpus([empty], tokenizer, settings, tmp_path / "corpus", validation=documents)


def test_build_corpus_refuses_validation_files_without_tokens(tmp_path, tokenizer, documents):
    with pytest.raises(DataError, match=r"the validation split has no documents .*; its files have no text"):
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
