"""Counting tokens: every one in a small corpus, the first ones of a large one."""

import numpy as np
import pytest

from litebert.corpus.format.shards import Corpus
from litebert.corpus.statistics.token_frequency import most_frequent_token, token_counts, unigram_entropy
from support.data.corpus_builders import FIRST_ID, VOCAB_SIZE, make_corpus


def test_token_counts_of_a_small_corpus_are_complete(tmp_path):
    counts = token_counts(make_corpus(tmp_path, [[[3, 1]], [[4], [2]]]))
    assert counts.shape == (VOCAB_SIZE,)
    assert counts[FIRST_ID : FIRST_ID + 4].tolist() == [3, 1, 4, 2]
    assert counts.sum() == 10


def test_most_frequent_token_counts_all_shards(tmp_path):
    assert most_frequent_token(make_corpus(tmp_path, [[[3, 1]], [[4], [2]]])) == FIRST_ID + 2


@pytest.mark.parametrize(("most", "counted"), [(1, 1), (3, 3), (4, 4), (5, 9)])
def test_token_counts_of_a_large_corpus_use_the_first_shards(tmp_path, most, counted):
    corpus = make_corpus(tmp_path, [[[4]], [[6]], [[5]]])
    assert token_counts(corpus, max_tokens=most).sum() == counted


def test_find_files_counts_files(corpus_directory):
    corpus = Corpus.open(corpus_directory)
    tokens = np.concatenate([corpus.shard(number).tokens for number in range(len(corpus.entries))])
    assert (token_counts(corpus) == np.bincount(tokens, minlength=len(corpus.vocabulary.word_starts))).all()


def test_unigram_entropy_is_the_loss_of_the_unigram_model(tmp_path):
    assert unigram_entropy(make_corpus(tmp_path / "even", [[[2, 2]], [[2, 2]]])) == pytest.approx(np.log(4))
    assert unigram_entropy(make_corpus(tmp_path / "one", [[[5]]])) == 0
