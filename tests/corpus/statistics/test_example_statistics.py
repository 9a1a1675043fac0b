import numpy as np
import pytest

from litebert.corpus.sampling.masking import Masked
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.example_statistics import count_examples, ngram_sizes, shares
from support.corpus_builders import make_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("statistics"), [[[7, 9, 8, 6, 5]] * 20 + [[30]] * 5])


def test_the_counts_are_those_of_the_batches_of_a_run(corpus):
    settings = SamplingSettings(max_length=24)
    batches = PretrainBatches(corpus, settings, batch_size=256, microbatch_size=32, seed=3)
    found = count_examples(corpus, settings, examples=10**6, seed=3)
    drawn = batches.microbatches(0)
    few = count_examples(corpus, settings, examples=8, seed=3)
    assert found.lengths.total == batches.examples_per_epoch
    assert few.lengths.total == 8
    tokens, places = sum(batch.num_tokens for batch in drawn), sum(batch.input_ids.numel() for batch in drawn)
    assert found.padding_share == pytest.approx(1 - tokens / places)


def test_masks_and_labels_come_out_as_the_settings_ask(corpus):
    settings = SamplingSettings(max_length=24, max_ngram=2, mask_token_prob=1.0, random_token_prob=0.0)
    found = count_examples(corpus, settings, examples=1000, seed=0)
    assert found.masked_share == pytest.approx(0.15, abs=0.03)
    assert found.shown == {"[MASK]": found.predicted, "another token": 0, "unchanged": 0}
    assert found.expected_ngrams == {1: pytest.approx(2 / 3), 2: pytest.approx(1 / 3)}
    assert set(found.ngrams) == {1, 2}
    assert sum(size * count for size, count in found.ngrams.items()) == found.predicted
    assert set(found.labels) == {"in order", "swapped", "no label"}


@pytest.mark.parametrize("pairing", ["sop", "nsp", "none"])
@pytest.mark.parametrize("pack", [False, True])
def test_every_way_to_draw_is_counted(corpus, pairing, pack):
    found = count_examples(corpus, SamplingSettings(max_length=40, pairing=pairing, pack=pack), examples=50, seed=0)
    assert sum(found.labels.values()) == found.lengths.total
    assert 0 <= found.padding_share < 1
    for word in ("second task: ", "to predict: ", "masked words in a row: 1: ", "padding: "):
        assert word in found.to_text()


def test_ngrams_are_told_apart_though_they_touch():
    ngrams = np.array([[-1, 0, 0, 0, 2, 2, -1], [-1, 1, 1, -1, -1, -1, -1]])
    words = np.array([[0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 2, 2]])
    assert ngram_sizes(Masked(np.zeros_like(ngrams), ngrams), words).tolist() == [2, 1, 2]


def test_shares_of_nothing_are_zero():
    assert shares({"a": 0}) == {"a": 0}
    assert shares({"a": 1, "b": 3}) == {"a": 0.25, "b": 0.75}
