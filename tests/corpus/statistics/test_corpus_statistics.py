import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.masking import MaskedGrid
from litebert.corpus.sampling.pairing import ExampleSource
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import ExampleStream
from litebert.corpus.statistics.corpus_statistics import (
    MANY_TRUNCATED,
    LengthHistogram,
    count_examples,
    count_text,
    ngram_sizes,
    shares,
)
from support.data.corpus_builders import FIRST_ID, VOCAB_SIZE, make_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("statistics"), [[[7, 9, 8, 6, 5]] * 20 + [[30]] * 5])


def test_text_statistics_hold_one_shard_at_a_time(tmp_path, monkeypatch):
    corpus = make_corpus(tmp_path, [[[7, 9]] * 4 for _ in range(6)])
    opened, most = [], []

    def shard(number):
        found = corpus._open_shard(number)
        opened.append(weakref.ref(found))
        most.append(sum(each() is not None for each in opened))
        return found

    monkeypatch.setattr(corpus, "shard", shard)
    count_text(corpus)
    assert len(most) > len(corpus.entries)
    assert max(most) <= 2, "the next one is opened before the last is freed"


def test_example_statistics_count_the_batches_of_a_run(corpus):
    settings = SamplingSettings(max_length=24)
    batches = PretrainBatches(corpus, settings, batch_size=256, microbatch_size=32, seed=3)
    found = count_examples(corpus, settings, examples=10**6, seed=3)
    drawn = batches.microbatches(0)
    few = count_examples(corpus, settings, examples=8, seed=3)
    assert found.lengths.total == batches.examples_per_epoch
    assert few.lengths.total == 8
    tokens, positions = sum(batch.num_tokens for batch in drawn), sum(batch.input_ids.numel() for batch in drawn)
    assert found.padding_share == pytest.approx(1 - tokens / positions)


def test_example_statistics_agree_with_the_settings(corpus):
    settings = SamplingSettings(max_length=24, max_ngram=2, mask_token_prob=1.0, random_token_prob=0.0)
    found = count_examples(corpus, settings, examples=1000, seed=0)
    assert found.masked_share == pytest.approx(0.15, abs=0.03)
    assert found.replacements == {"[MASK]": found.predicted, "random token": 0, "unchanged": 0}
    assert found.expected_ngrams == {1: pytest.approx(2 / 3), 2: pytest.approx(1 / 3)}
    assert set(found.ngrams) == {1, 2}
    assert sum(size * count for size, count in found.ngrams.items()) == found.predicted
    assert set(found.labels) == {"in order", "swapped", "no label"}


@pytest.mark.parametrize("pairing", ["sop", "nsp", "none"])
@pytest.mark.parametrize("pack", [False, True])
def test_example_statistics_work_for_every_pairing_and_packing(corpus, pairing, pack):
    found = count_examples(corpus, SamplingSettings(max_length=40, pairing=pairing, packing=pack), examples=50, seed=0)
    assert sum(found.labels.values()) == found.lengths.total
    assert 0 <= found.padding_share < 1
    for word in ("sentence pairs: ", "predicted tokens: ", "words per masked n-gram: 1: ", "padding: "):
        assert word in found.to_text()


def test_truncated_share_is_that_of_the_tokens_which_no_example_of_an_epoch_has(corpus):
    settings = SamplingSettings(max_length=12, pairing="none", single_segment=True)
    found = count_examples(corpus, settings, examples=10**6, seed=0)
    source = ExampleSource(ExampleStream(corpus, settings, seed=0))
    epoch = source.stream.epoch(0)
    read = sum(source.draw(epoch, index).length - 2 for index in range(len(epoch.tokens)))
    assert found.truncated_share == pytest.approx(1 - read / corpus.num_tokens)
    assert found.truncated_share > MANY_TRUNCATED
    assert "build the corpus with a smaller --max-sentence-chars" in found.to_text()


def test_ngram_sizes_separates_adjacent_ngrams():
    ngrams = np.array([[-1, 0, 0, 0, 2, 2, -1], [-1, 1, 1, -1, -1, -1, -1]])
    words = np.array([[0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 2, 2]])
    assert ngram_sizes(MaskedGrid(np.zeros_like(ngrams), ngrams), words).tolist() == [2, 1, 2]


def test_shares_of_zero_counts_are_zero():
    assert shares({"a": 0}) == {"a": 0}
    assert shares({"a": 1, "b": 3}) == {"a": 0.25, "b": 0.75}


@given(parts=st.lists(st.lists(st.integers(0, 50), max_size=20), max_size=4), share=st.floats(0, 1))
def test_length_histogram_of_parts_equals_that_of_the_whole(parts, share):
    whole = sorted(length for part in parts for length in part)
    lengths = LengthHistogram.of(np.array(part, dtype=np.uint32) for part in parts)
    assert lengths.total == len(whole)
    assert lengths.mean == np.mean(whole or [0])
    found = lengths.quantile(share)
    if whole:
        assert sum(length <= found for length in whole) >= share * len(whole)
        assert (lengths.quantile(0), lengths.quantile(1)) == (whole[0], whole[-1])


def test_length_histogram_as_text_and_dict():
    lengths = LengthHistogram.of([np.array([1, 2, 3]), np.array([1200])])
    assert lengths.to_text() == "mean 301.5, median 2, 5 % to 95 %: 1 to 1,200, maximum 1,200"
    assert lengths.to_dict()["95%"] == 1200
    assert list(lengths.to_dict())[:3] == ["count", "mean", "min"]


def test_count_text_adds_up_all_shards(tmp_path):
    found = count_text(make_corpus(tmp_path, [[[3, 4], [5]], [[2, 2, 2]]]))
    assert (found.tokens, found.unknown_tokens, found.used_pieces, found.vocab_size) == (18, 0, 6, VOCAB_SIZE)
    assert dict(zip(found.sentences.values.tolist(), found.sentences.counts.tolist())) == {2: 3, 3: 1, 4: 1, 5: 1}
    assert found.documents.values.tolist() == [5, 6, 7]
    assert found.sentences_per_document.values.tolist() == [1, 2, 3]


def test_count_text_counts_unknown_tokens(tmp_path):
    corpus = make_corpus(tmp_path, [[[3, 4], [5]]])
    object.__setattr__(corpus.vocabulary, "unk_id", FIRST_ID)
    found = count_text(corpus)
    assert found.unknown_tokens == 3
    assert "tokens: 12; 25.0000% unknown" in found.to_text()
    assert "documents: 2" in found.to_text()
