"""Causal batches: which steps they are, and that each position predicts the next token of its example."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.api.pretrain_dataset import PretrainDataset
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.corpus_statistics import count_examples
from litebert.corpus.statistics.example_view import show_examples
from litebert.errors import ConfigError
from support.data.corpus_builders import make_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    shards = [[rng.integers(5, 12, rng.integers(1, 14)).tolist() for _ in range(60)]]
    return make_corpus(tmp_path_factory.mktemp("corpus"), shards)


def batches(corpus, **settings):
    drawn = SamplingSettings(max_length=40, **settings)
    return PretrainBatches(corpus, drawn, batch_size=12, microbatch_size=5, seed=7)


@given(st.floats(0, 0.999), st.integers(1, 300))
def test_causal_steps_are_spread_evenly(fraction, steps):
    settings = SamplingSettings(causal_fraction=fraction)
    assert abs(sum(map(settings.is_causal, range(steps))) - fraction * steps) <= 1


@pytest.mark.parametrize("packing", [False, True])
def test_causal_batch_predicts_the_next_token_of_every_example(packing, corpus):
    (_, step) = range(2)
    for batch in batches(corpus, causal_fraction=0.5, packing=packing).microbatches(step):
        assert batch.causal
        ids, width = batch.input_ids.flatten(), batch.input_ids.shape[1]
        starts = torch.arange(len(batch.input_ids)) * width if batch.sequence_starts is None else batch.sequence_starts
        real = batch.attention_mask.flatten().nonzero()[:, 0].tolist()
        follows = [at for at in real if at + 1 in real and at + 1 not in starts.tolist()]
        assert batch.masked_positions.tolist() == follows
        assert torch.equal(batch.labels, ids[batch.masked_positions + 1])
        assert set(batch.sentence_pair_labels.tolist()) == {-100}


def test_masked_steps_of_a_run_with_causal_ones_are_those_of_a_run_without(corpus):
    mixed, masked = batches(corpus, causal_fraction=0.5), batches(corpus)
    assert [mixed.microbatches(step)[0].causal for step in range(4)] == [False, True, False, True]
    for ours, theirs in zip(mixed.microbatches(2), masked.microbatches(2), strict=True):
        assert torch.equal(ours.input_ids, theirs.input_ids)
        assert torch.equal(ours.labels, theirs.labels)


def test_validation_epoch_is_masked_unless_it_is_asked_to_be_causal(corpus):
    source = batches(corpus, causal_fraction=0.9)
    assert not any(batch.causal for batch in source.one_epoch())
    assert all(batch.causal for batch in source.one_epoch(causal=True))


@pytest.mark.parametrize(
    "read",
    [
        lambda corpus: PretrainDataset(corpus.directory, causal_fraction=0.5),
        lambda corpus: show_examples(corpus, SamplingSettings(causal_fraction=0.5)),
        lambda corpus: count_examples(corpus, SamplingSettings(causal_fraction=0.5), examples=1, seed=0),
    ],
    ids=["data set", "corpus show", "corpus stats"],
)
def test_readers_of_masked_examples_refuse_causal_steps(read, corpus):
    with pytest.raises(ConfigError, match=r"causal_fraction: 0\.5, expected 0"):
        read(corpus)
