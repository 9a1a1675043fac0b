from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.corpus.format.shards import ShardEntry
from litebert.corpus.sampling.corpus_examples import CorpusExamples, group_shards
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from support.data.corpus_builders import FIRST_ID, make_corpus

SETTINGS = SamplingSettings(max_length=24, short_seq_prob=0.25, mask_unit="token")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    shards = [[rng.integers(1, 12, rng.integers(1, 9)).tolist() for _ in range(9)] for _ in range(10)]
    return make_corpus(tmp_path_factory.mktemp("corpus"), shards)


def examples_of(corpus, *, seed=3, window_tokens=700, **changes):
    return CorpusExamples(corpus, SETTINGS.replace(**changes), seed=seed, window_tokens=window_tokens)


def key(ref):
    example = ref.draw()
    return (example.label, tuple(example.first), tuple(example.second), example.rng.random())


def sentences(ref) -> set[int]:
    """Numbers of the sentences of the whole corpus that an example consists of."""
    tokens, _ = ref.source.corpus.read(int(ref.epoch.starts[ref.index]), int(ref.epoch.starts[ref.index + 1]))
    return set((tokens.astype(int) - FIRST_ID).tolist())


sizes = st.lists(st.integers(1, 50), min_size=1, max_size=30)


@given(sizes, st.integers(1, 200), st.integers(0, 5))
def test_windows_have_every_shard_once_and_at_most_their_tokens(sizes, window_tokens, seed):
    entries = [ShardEntry(str(number), 1, 1, tokens) for number, tokens in enumerate(sizes)]
    windows = group_shards(entries, window_tokens=window_tokens, seed=seed)
    assert sorted(shard for window in windows for shard in window) == list(range(len(sizes)))
    for window in windows:
        assert len(window) == 1 or sum(sizes[shard] for shard in window) <= window_tokens
    if sum(sizes) <= window_tokens:
        assert windows == [list(range(len(sizes)))]


def test_windows_of_equal_shards_are_filled():
    entries = [ShardEntry(str(number), 1, 1, 10) for number in range(20)]
    assert [len(window) for window in group_shards(entries, window_tokens=50, seed=0)] == [5, 5, 5, 5]


def test_epoch_of_several_windows_has_every_sentence_once(corpus):
    examples = examples_of(corpus)
    assert len(examples.windows) > 3
    drawn = Counter(sentence for ref in examples.one_epoch(1) for sentence in sentences(ref))
    assert drawn == Counter(range(corpus.num_sentences))
    assert examples.epoch_size(1) == sum(1 for _ in examples.one_epoch(1))


@settings(max_examples=25)
@given(st.integers(0, 10**9))
def test_position_in_several_windows_has_the_same_example_in_any_order_of_access(corpus, first):
    forwards, backwards = examples_of(corpus), examples_of(corpus)
    positions = range(first, first + 12)
    assert [key(forwards.at(p)) for p in positions] == [key(backwards.at(p)) for p in reversed(positions)][::-1]


def test_rounds_take_the_next_examples_of_every_window(corpus):
    examples = examples_of(corpus)
    total = int(examples.visit_sizes.sum())
    for window, size in enumerate(examples.visit_sizes.tolist()):
        visits = [place for place in map(examples._locate, range(3 * total)) if place[0] == window]
        assert sorted(position for _, position in visits) == list(range(3 * size))


def test_rounds_visit_the_windows_in_different_orders(corpus):
    examples = examples_of(corpus)
    assert len({tuple(examples.order(number)[0].tolist()) for number in range(8)}) > 3
    assert examples_of(corpus, seed=4).windows != examples.windows


def test_round_is_about_one_epoch(corpus):
    examples = examples_of(corpus)
    mean = np.mean([examples.epoch_size(number) for number in range(4)])
    assert examples.examples_per_epoch == pytest.approx(mean, rel=0.25)


def test_windows_draw_different_random_numbers(tmp_path):
    shard = [[5] * 6 for _ in range(20)]
    examples = examples_of(make_corpus(tmp_path, [shard, shard]), window_tokens=600, short_seq_prob=0)
    drawn = {}
    for ref in examples.one_epoch(0):
        drawn.setdefault(ref.source.seed, set()).add(ref.draw().rng.random())
    first, second = drawn.values()
    assert not first & second


def test_next_sentence_pairs_come_from_the_same_window(corpus):
    examples = examples_of(corpus, pairing="nsp")
    labels = Counter(ref.draw().label for ref in examples.one_epoch(0))
    assert labels[1] > 0.25 * (labels[0] + labels[1])


def test_reading_a_position_opens_the_shards_of_one_window_only(corpus):
    examples = examples_of(corpus)
    ref = examples.at(10**6)
    ref.draw()
    opened = ref.source.corpus
    assert len(opened.entries) < len(corpus.entries)
    assert opened.shard.cache_info().currsize == len(opened.entries)
    assert corpus.shard.cache_info().currsize == 0


def test_example_at_a_position_of_an_epoch_is_that_of_one_pass(corpus):
    examples = examples_of(corpus)
    in_order = [key(ref) for ref in examples.one_epoch(1)]
    positions = np.random.default_rng(0).permutation(len(in_order)).tolist()
    assert len(in_order) == examples.epoch_size(1)
    assert [key(examples.in_epoch(1, position)) for position in positions] == [in_order[at] for at in positions]


@pytest.mark.parametrize("short_seq_prob", [0.0, 0.1])
@pytest.mark.parametrize("max_length", [64, 256])
def test_a_round_of_windows_is_about_an_epoch(tmp_path, max_length, short_seq_prob):
    rng = np.random.default_rng(1)
    shards = [[rng.integers(5, 40, rng.integers(20, 120)).tolist() for _ in range(30)] for _ in range(4)]
    examples = examples_of(
        make_corpus(tmp_path, shards), window_tokens=80_000, max_length=max_length, short_seq_prob=short_seq_prob
    )
    assert len(examples.windows) > 1
    epochs = sum(examples.source(window).stream.examples_per_epoch for window in range(len(examples.windows)))
    assert examples.examples_per_epoch == pytest.approx(epochs, rel=0.05)
