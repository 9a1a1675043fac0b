from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.corpus_examples import ExampleRef
from litebert.corpus.sampling.mixture import Mixture, examples_by_corpus, remaining_shares
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from support.data.corpus_builders import make_corpus

SETTINGS = SamplingSettings(max_length=40, short_seq_prob=1 / 3)
WEIGHTS = (1.0, 0.5, 0.3)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    rng = np.random.default_rng(0)
    made = []
    for number, documents in enumerate((40, 25, 10)):
        shards = [[rng.integers(1, 12, rng.integers(1, 14)).tolist() for _ in range(documents)]]
        directory = tmp_path_factory.mktemp("corpora") / str(number)
        made.append(make_corpus(directory, shards, fingerprint=f"{number:02x}"))
    return made


def mixture(corpora, weights=WEIGHTS):
    return Mixture(list(zip(corpora, weights, strict=True)), SETTINGS, seed=7)


def key(ref: ExampleRef):
    """Which example it is, and what is drawn for it."""
    example = ref.draw()
    return (
        ref.source.corpus.fingerprint,
        ref.epoch.number,
        ref.index,
        example.label,
        tuple(example.first),
        tuple(example.second),
        example.rng.random(),
    )


weights_of = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5)


@given(weights_of, st.integers(0, 10**12))
def test_mixture_has_the_shares_of_the_corpora_at_any_position(weights, position):
    found = examples_by_corpus(position, remaining_shares(weights))
    total = sum(map(Fraction, map(str, weights)))
    assert sum(found) == position
    for count, weight in zip(found, weights, strict=True):
        assert abs(count - position * Fraction(str(weight)) / total) < len(weights)


@given(weights_of, st.integers(0, 10**12))
def test_mixture_position_belongs_to_one_corpus(weights, position):
    before, after = (examples_by_corpus(p, remaining_shares(weights)) for p in (position, position + 1))
    assert sorted(b - a for a, b in zip(before, after, strict=True)) == [0] * (len(weights) - 1) + [1]


def test_mixture_shares_are_exact_for_decimal_weights():
    assert examples_by_corpus(10_000, remaining_shares([0.1, 0.2, 0.7])) == [1000, 2000, 7000]


def test_mixture_has_separate_epochs_for_each_corpus(corpora):
    mixed = mixture(corpora)
    sizes = [part.epoch_size(0) for part in mixed.parts]
    first_epochs: dict[str, Counter] = {}
    for position in range(2 * sum(sizes)):
        ref = mixed.at(position)
        if ref.epoch.number == 0:
            first_epochs.setdefault(ref.source.corpus.fingerprint, Counter())[ref.index] += 1
    assert {len(seen) for seen in first_epochs.values()} == set(sizes)
    assert all(set(seen.values()) == {1} for seen in first_epochs.values())


def test_mixture_of_one_corpus_equals_that_corpus(corpora):
    alone, first = mixture(corpora[:1], (1.0,)), mixture(corpora[:1], (0.2,))
    assert [key(alone.at(p)) for p in range(50)] == [key(first.at(p)) for p in range(50)]


def test_mixture_draws_the_first_corpus_independently_of_the_others(corpora):
    mixed, alone = mixture(corpora), mixture(corpora[:1], (1.0,))
    own = [ref for ref in map(mixed.at, range(100)) if ref.source is mixed.parts[0].source(0)]
    assert [key(ref) for ref in own] == [key(alone.at(position)) for position in range(len(own))]


def test_mixture_epoch_is_that_of_the_first_corpus(corpora):
    mixed = mixture(corpora)
    own = mixed.parts[0].examples_per_epoch
    assert mixed.examples_per_epoch == round(own * sum(WEIGHTS))


def test_mixture_epoch_has_every_example_of_every_corpus(corpora):
    mixed = mixture(corpora)
    found = Counter(ref.source.corpus.fingerprint for ref in mixed.one_epoch(1))
    assert found == {part.corpus.fingerprint: part.epoch_size(1) for part in mixed.parts}


def test_mixture_refuses_corpora_of_different_tokenizers(corpora, tmp_path):
    other = make_corpus(tmp_path / "other", [[[3, 4]]], tokenizer="aa")
    with pytest.raises(ConfigError, match="other: was built with another tokenizer than"):
        mixture([corpora[0], other], (1, 1))


@pytest.mark.parametrize("weight", [0, -1.0, float("nan"), float("inf")])
def test_mixture_refuses_weights_that_are_not_positive_and_finite(corpora, weight):
    with pytest.raises(ConfigError, match="expected a positive finite number"):
        mixture(corpora[:2], (1, weight))


def batches(corpora, weights=WEIGHTS, **more):
    others = list(zip(corpora[1:], weights[1:], strict=True))
    return PretrainBatches(corpora[0], SETTINGS, batch_size=24, microbatch_size=24, seed=7, data_mixture=others, **more)


def tokens(parts):
    """The text of each example, answers put back."""
    found = Counter()
    for batch in parts:
        ids = batch.input_ids.flatten().clone()
        ids[batch.masked_positions] = batch.labels
        found.update(tuple(row) for row in ids.reshape(batch.input_ids.shape).tolist())
    return found


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_ranks_share_the_batch_of_a_mixture(corpora, world_size):
    late = 1_000_000
    whole = batches(corpora).microbatches(late)
    parts = [
        b for rank in range(world_size) for b in batches(corpora, rank=rank, world_size=world_size).microbatches(late)
    ]
    assert sum(batch.num_examples for batch in parts) == 24
    strip = [Counter(tuple(t for t in row if t) for row in tokens(p).elements()) for p in (parts, whole)]
    assert strip[0] == strip[1]


def test_mixture_fingerprint_depends_on_corpora_and_weights(corpora):
    found = {
        batches(corpora).fingerprint,
        batches(corpora, (1, 0.5, 0.4)).fingerprint,
        batches(corpora[:2], (1, 0.5)).fingerprint,
        batches(corpora[:1], (1,)).fingerprint,
    }
    assert len(found) == 4


def test_example_at_a_position_of_an_epoch_is_that_of_one_pass(corpora):
    part = mixture(corpora)
    in_order = [(ref.source.corpus.directory, ref.index) for ref in part.one_epoch(0)]
    found = [part.in_epoch(0, position) for position in range(part.epoch_size(0))]
    assert [(ref.source.corpus.directory, ref.index) for ref in found] == in_order
    with pytest.raises(IndexError, match=f"the epoch has {len(in_order)} examples"):
        part.in_epoch(0, len(in_order))
