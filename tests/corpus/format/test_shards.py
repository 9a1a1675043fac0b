import json
import pickle

import numpy as np
import pytest

from litebert.corpus.format.shards import Corpus, Vocabulary, token_dtype
from litebert.errors import DataError
from litebert.manifest import write_manifest
from support.data.corpus_builders import FIRST_ID, make_corpus

SHARDS = [[[3, 2], [4]], [[1, 1, 5]]]


@pytest.fixture
def corpus(tmp_path):
    return make_corpus(tmp_path / "corpus", SHARDS)


def test_corpus_counts_documents_sentences_and_tokens(corpus):
    assert (corpus.num_documents, corpus.num_sentences, corpus.num_tokens) == (3, 6, 16)


@pytest.mark.parametrize(
    ("first", "end", "sentences", "edges"),
    [(0, 2, [0, 0, 0, 1, 1], [0, 3, 5]), (2, 3, [2] * 4, [0, 4]), (4, 6, [4, 5, 5, 5, 5, 5], [0, 1, 6])],
)
def test_corpus_read_numbers_sentences_through_shards(corpus, first, end, sentences, edges):
    tokens, found = corpus.read(first, end)
    assert tokens.tolist() == [FIRST_ID + sentence for sentence in sentences]
    assert found.tolist() == edges


@pytest.mark.parametrize(("document", "sentences"), [(0, (0, 2)), (1, (2, 3)), (2, (3, 6))])
def test_corpus_sentences_of_a_document_are_numbered_through_shards(corpus, document, sentences):
    assert corpus.sentences_of(document) == sentences


def test_corpus_survives_pickling(corpus):
    copy = pickle.loads(pickle.dumps(corpus))
    assert copy.fingerprint == corpus.fingerprint
    assert copy.read(3, 6)[0].tolist() == corpus.read(3, 6)[0].tolist()


def test_corpus_has_its_vocabulary(corpus):
    assert (corpus.vocabulary.cls_id, corpus.vocabulary.sep_id, corpus.vocabulary.mask_id) == (2, 3, 4)
    assert corpus.tokenizer_directory == corpus.directory / "tokenizer"
    assert corpus.tokenizer_fingerprint == "f0"


def test_corpus_fingerprint_depends_on_the_split(corpus_directory):
    assert Corpus.open(corpus_directory).fingerprint != Corpus.open(corpus_directory, "validation").fingerprint


def test_corpus_open_refuses_a_split_without_documents(corpus):
    with pytest.raises(DataError, match="validation split has no documents"):
        Corpus.open(corpus.directory, "validation")


def test_corpus_open_refuses_a_directory_without_a_corpus(tmp_path):
    with pytest.raises(DataError, match="no corpus directory"):
        Corpus.open(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", "3"])
def test_corpus_with_a_damaged_description_is_refused(corpus, content):
    (corpus.directory / "corpus.json").write_text(content)
    with pytest.raises(DataError, match="damaged"):
        Corpus.open(corpus.directory)


def test_corpus_of_another_format_version_is_refused(corpus):
    path = corpus.directory / "corpus.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 2}))
    with pytest.raises(DataError, match="found format version 2, expected 1"):
        Corpus.open(corpus.directory)


def test_corpus_with_a_missing_array_is_refused(corpus):
    (corpus.directory / "train/00001/tokens.npy").unlink()
    with pytest.raises(DataError, match=r"tokens.npy: missing"):
        Corpus.open(corpus.directory).read(3, 4)


def test_corpus_with_a_damaged_array_is_refused(corpus):
    (corpus.directory / "train/00001/tokens.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match=r"tokens.npy: damaged"):
        Corpus.open(corpus.directory).read(3, 4)


def test_corpus_refuses_a_shard_of_another_size(corpus):
    np.save(corpus.directory / "train/00001/tokens.npy", np.zeros(3, np.uint16))
    write_manifest(corpus.directory)
    with pytest.raises(DataError, match=r"has \(1, 3, 3\) .* expects \(1, 3, 7\)"):
        Corpus.open(corpus.directory).read(3, 4)


@pytest.mark.parametrize(("vocab_size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.uint32)])
def test_token_dtype_is_the_smallest_that_fits(vocab_size, dtype):
    assert token_dtype(vocab_size) is dtype


def test_vocabulary_of_a_tokenizer(tokenizer):
    vocabulary = Vocabulary.of(tokenizer)
    assert vocabulary.size == tokenizer.vocab_size
    assert (vocabulary.cls_id, vocabulary.mask_id) == (tokenizer.cls_id, tokenizer.mask_id)
    assert np.array_equal(vocabulary.word_starts, tokenizer.word_starts)


def test_vocabulary_non_special_ids():
    vocabulary = Vocabulary(pad_id=5, unk_id=0, cls_id=2, sep_id=3, mask_id=7, word_starts=np.ones(9, dtype=bool))
    assert vocabulary.non_special_ids.tolist() == [1, 4, 6, 8]
