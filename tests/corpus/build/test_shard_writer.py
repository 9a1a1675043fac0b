from pathlib import Path

import numpy as np
import pytest

from litebert.corpus.build import shard_writer
from litebert.corpus.build.shard_writer import ShardTask, write_shard
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Shard

DOCUMENTS = (("Bado kilu. Mera noti.", "Batido"), ("Kilu",))


def write(directory: Path, tokenizer, documents=DOCUMENTS, *, source="a", **settings):
    task = ShardTask(directory, "train/00000", source, documents, text_bytes=99)
    record = write_shard(task, tokenizer=tokenizer, settings=CorpusSettings(**settings))
    return record, Shard.open(directory / "train/00000")


def texts(shard, tokenizer):
    spans = zip(shard.sentences[:-1], shard.sentences[1:], strict=True)
    return [tokenizer.decode(shard.tokens[first:end].tolist()) for first, end in spans]


def test_write_shard_stores_the_sentences_of_its_documents(tmp_path, tokenizer):
    record, shard = write(tmp_path, tokenizer)
    assert texts(shard, tokenizer) == ["bado kilu.", "mera noti.", "batido", "kilu"]
    assert shard.documents.tolist() == [0, 3, 4]
    assert shard.tokens.dtype == np.uint16
    assert (record.entry.documents, record.entry.sentences, record.entry.tokens) == (2, 4, len(shard.tokens))


def test_sentence_splitting_can_be_switched_off(tmp_path, tokenizer):
    assert texts(write(tmp_path, tokenizer, sentences="line")[1], tokenizer)[0] == "bado kilu. mera noti."


def test_write_shard_cuts_and_counts_long_sentences(tmp_path, tokenizer):
    record, shard = write(tmp_path, tokenizer, sentences="line", max_sentence_chars=10)
    assert texts(shard, tokenizer) == ["bado kilu.", "mera noti.", "batido", "kilu"]
    assert record.counts["sentences cut"] == 1


def test_write_shard_leaves_out_and_counts_empty_sentences(tmp_path, tokenizer):
    record, shard = write(tmp_path, tokenizer, (("\u0301", "Kilu"), ("\u0301",)))
    assert texts(shard, tokenizer) == ["kilu"]
    assert record.counts["sentences without tokens"] == 2
    assert record.counts["documents without tokens"] == 1


def test_write_shard_may_have_no_documents(tmp_path, tokenizer):
    assert write(tmp_path, tokenizer, (("\u0301",),))[0].entry.documents == 0


def test_write_shard_does_not_depend_on_the_chunk_size(tmp_path, tokenizer, monkeypatch):
    whole = write(tmp_path / "whole", tokenizer)[0]
    monkeypatch.setattr(shard_writer, "CHUNK_CHARS", 7)
    assert write(tmp_path / "pieces", tokenizer)[0].content == whole.content


def test_write_shard_reuses_a_finished_shard(tmp_path, tokenizer):
    first = write(tmp_path, tokenizer)[0]
    second = write(tmp_path, None)[0]
    assert (second.reused, second.content) == (True, first.content)


def test_write_shard_replaces_a_shard_of_other_text(tmp_path, tokenizer):
    write(tmp_path, tokenizer)
    record, shard = write(tmp_path, tokenizer, (("Kilu",),), source="b")
    assert not record.reused
    assert texts(shard, tokenizer) == ["kilu"]


@pytest.mark.parametrize("documents", [(("One. Two.",),), (("Two. One.",),)])
def test_shard_content_digest_depends_on_the_order(tmp_path, tokenizer, documents):
    same = write(tmp_path / "a", tokenizer, documents)[0].content
    other = write(tmp_path / "b", tokenizer, (("Third.",),))[0].content
    assert same != other


def test_write_shard_leaves_out_documents_with_too_few_sentences(tmp_path, tokenizer):
    documents = (("Ra.",), *DOCUMENTS, ("\u0301",), ("Meno. Lura.",))
    record, shard = write(tmp_path, tokenizer, documents, min_sentences=2)
    assert texts(shard, tokenizer) == ["bado kilu.", "mera noti.", "batido", "meno.", "lura."]
    assert shard.documents.tolist() == [0, 3, 5]
    assert record.counts["documents with too few sentences"] == 2
    assert record.counts["documents without tokens"] == 1


def test_write_shard_counts_unknown_tokens(tmp_path, tokenizer):
    record, _ = write(tmp_path, tokenizer, (("Bado 😀 kilu.",),))
    assert record.counts["unknown tokens"] == 1
