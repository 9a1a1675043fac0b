import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.corpus.format.shards import Shard
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.sampling.stream import ExampleStream, segment_documents
from support.data.corpus_builders import edges, make_corpus

documents = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), min_size=1, max_size=6)


def segment_as_google_albert(sentence_lengths, targets):
    """The loop of google-research/albert: add sentences until the target is reached or the document ends."""
    starts, sentence = [], 0
    for lengths, target in zip(sentence_lengths, targets, strict=True):
        total = 0
        for index, length in enumerate(lengths):
            if total == 0:
                starts.append(sentence)
            total = total + length
            sentence += 1
            if total >= target or index == len(lengths) - 1:
                total = 0
    return starts


@given(documents, st.data())
def test_segment_documents_equals_google_albert(lengths, data):
    targets = data.draw(st.lists(st.integers(2, 30), min_size=len(lengths), max_size=len(lengths)))
    flat = [length for document in lengths for length in document]
    shard = Shard(np.zeros(sum(flat)), edges(flat), edges([len(document) for document in lengths]))
    assert segment_documents(shard, np.array(targets)).tolist() == segment_as_google_albert(lengths, targets)


@settings(max_examples=50)
@given(
    st.lists(documents, min_size=1, max_size=3),
    st.sampled_from([0, 1, 0.5, 1 / 3, 0.25]),
    st.integers(0, 10**6),
    st.integers(0, 99),
)
def test_epoch_has_every_sentence_in_exactly_one_example(shards, probability, number, seed):
    with tempfile.TemporaryDirectory() as directory:
        corpus = make_corpus(Path(directory), shards)
        epoch = ExampleStream(corpus, SamplingSettings(max_length=16, short_seq_prob=probability), seed=seed).epoch(
            number
        )
        assert epoch.starts[0] == 0
        assert epoch.starts[-1] == corpus.num_sentences
        assert np.all(np.diff(epoch.starts) > 0)
        assert sorted(epoch.order) == list(range(len(epoch.tokens)))
        for index, (first, end) in enumerate(zip(epoch.starts[:-1], epoch.starts[1:], strict=True)):
            assert len(corpus.read(first, end)[0]) == epoch.tokens[index]
        assert np.array_equal(np.unique(epoch.documents), np.arange(corpus.num_documents))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    shards = [[rng.integers(1, 30, rng.integers(1, 20)).tolist() for _ in range(40)] for _ in range(3)]
    return make_corpus(tmp_path_factory.mktemp("corpus"), shards)


@pytest.mark.parametrize(("probability", "period"), [(0, 1), (1, 1), (0.1, 10)])
def test_cycle_offsets_are_the_sizes_of_the_epochs(corpus, probability, period):
    stream = ExampleStream(corpus, SamplingSettings(max_length=64, short_seq_prob=probability), seed=3)
    for number in (*range(period), 7 * period):
        size = stream.cycle_offsets[number % period + 1] - stream.cycle_offsets[number % period]
        assert len(stream.epoch(number).order) == size
    assert stream.examples_per_epoch == round(stream.cycle_offsets[-1] / period)


def test_stream_positions_run_through_epoch_after_epoch(corpus):
    stream = ExampleStream(corpus, SamplingSettings(max_length=64, short_seq_prob=1 / 3), seed=3)
    sizes = [len(stream.epoch(number).order) for number in range(7)]
    expected = [(number, index) for number, size in enumerate(sizes) for index in range(size)]
    assert [stream.locate(position) for position in range(sum(sizes))] == expected


def test_short_seq_schedule_periodic_shortens_a_document_once_in_a_cycle(corpus):
    example_settings = SamplingSettings(max_length=64, short_seq_prob=0.2)
    stream = ExampleStream(corpus, example_settings, seed=3)
    full = ExampleStream(corpus, example_settings.replace(short_seq_prob=0), seed=3).epoch(0)
    per_document = [np.bincount(stream.epoch(number).documents, minlength=120) for number in range(5)]
    changed = sum(counts != np.bincount(full.documents, minlength=120) for counts in per_document)
    assert changed.max() == 1
    assert changed.sum() > 60


def test_epoch_order_depends_on_epoch_and_seed_only(corpus):
    example_settings = SamplingSettings(max_length=64, short_seq_prob=0)
    first = ExampleStream(corpus, example_settings, seed=3)
    again, other = ExampleStream(corpus, example_settings, seed=3), ExampleStream(corpus, example_settings, seed=4)
    assert np.array_equal(first.epoch(8).order, again.epoch(8).order)
    assert not np.array_equal(first.epoch(8).order, first.epoch(9).order)
    assert not np.array_equal(first.epoch(8).order, other.epoch(8).order)


def content(epoch):
    """Which examples an epoch holds, whatever their order."""
    return (epoch.duplicate, epoch.starts.tolist(), epoch.tokens.tolist())


@pytest.mark.parametrize("schedule", ["periodic", "random"])
@pytest.mark.parametrize("repeat", [1, 3, 12])
def test_dupe_factor_repeats_epochs_in_another_order(corpus, repeat, schedule):
    """dupe_factor of google-research/albert: so many passes have own examples, then the same come again, reshuffled."""
    example_settings = SamplingSettings(
        max_length=64, short_seq_prob=0.2, dupe_factor=repeat, short_seq_schedule=schedule
    )
    stream = ExampleStream(corpus, example_settings, seed=3)
    assert len(stream.cycle_offsets) == repeat + 1
    for number in range(repeat):
        first, again = stream.epoch(number), stream.epoch(number + repeat)
        assert content(first) == content(again)
        assert first.order.tolist() != again.order.tolist()
        assert len(first.order) == stream.cycle_offsets[number + 1] - stream.cycle_offsets[number]
    assert len({str(content(stream.epoch(number))) for number in range(repeat)}) == repeat


def short_documents(corpus, **more):
    """For each of 40 passes, which documents aim at how much less than the full length."""
    example_settings = SamplingSettings(max_length=64, short_seq_prob=0.25, dupe_factor=40, **more)
    stream = ExampleStream(corpus, example_settings, seed=3)
    return np.array([stream.targets(duplicate) for duplicate in range(40)])


def test_short_seq_schedule_periodic_gives_a_document_one_length(corpus):
    targets = short_documents(corpus)
    short = targets < 61
    assert set(short.sum(axis=0).tolist()) <= {0, 10}
    assert all(len(set(column[column < 61])) <= 1 for column in targets.T)


def test_short_seq_schedule_random_has_the_distribution_of_google_albert(corpus):
    """Source: `if rng.random() < short_seq_prob: target = rng.randint(2, max_num_tokens)`, once a document and pass."""
    targets = short_documents(corpus, short_seq_schedule="random")
    short = targets < 61
    expected = 0.25 * (1 - 1 / 60)  # a short target may by chance be the longest
    assert short.mean() == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / short.size))
    assert targets[short].min() == 2
    assert targets[short].mean() == pytest.approx((2 + 60) / 2, abs=3 * 17 / np.sqrt(short.sum()))
    assert short.sum(axis=0).std() == pytest.approx(np.sqrt(40 * expected * (1 - expected)), rel=0.2)
