from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sampling.corpus_examples import CorpusExamples
from litebert.corpus.sampling.pairing import (
    IN_ORDER,
    NO_LABEL,
    SWAPPED,
    ExampleSource,
    nsp_negative_share,
    split_sentences_at_random,
    truncate_pair,
)
from litebert.corpus.sampling.sampling_settings import Pairing, SamplingSettings
from litebert.corpus.sampling.stream import ExampleStream
from litebert.errors import ConfigError
from support.data.corpus_builders import FIRST_ID, make_corpus

NUM_DOCUMENTS = 300


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    shards = [[rng.integers(1, 12, rng.integers(1, 14)).tolist() for _ in range(NUM_DOCUMENTS // 2)] for _ in range(2)]
    return make_corpus(tmp_path_factory.mktemp("corpus"), shards)


def examples_of(corpus, *, number=0, seed=1, **settings):
    settings = SamplingSettings(**{"max_length": 48, **settings})
    stream = ExampleStream(corpus, settings, seed=seed)
    epoch, source = stream.epoch(number), ExampleSource(stream)
    return epoch, [source.draw(epoch, index) for index in range(len(epoch.tokens))]


def sentences(segment):
    """Numbers of the sentences of a segment, each once, in their order in it."""
    return list(dict.fromkeys((segment.astype(int) - FIRST_ID).tolist()))


def document_of(corpus, sentence):
    number = int(np.searchsorted(corpus.first_sentences, sentence, side="right")) - 1
    inside = np.searchsorted(corpus.shard(number).documents, sentence - corpus.first_sentences[number], side="right")
    return number, int(inside)


def documents_in(corpus, example):
    return {document_of(corpus, s) for s in sentences(example.first) + sentences(example.second)}


@pytest.mark.parametrize("pairing", get_args(Pairing))
def test_examples_have_every_sentence_that_fits_once_per_epoch(corpus, pairing):
    seen = Counter()
    for example in examples_of(corpus, pairing=pairing, max_length=512, short_seq_prob=0)[1]:
        seen.update(sentences(example.first) + sentences(example.second))
    assert seen == Counter(range(corpus.num_sentences))


@pytest.mark.parametrize("number", [0, 5])
def test_sop_pairs_never_cross_documents(corpus, number):
    for example in examples_of(corpus, number=number)[1]:
        assert len(documents_in(corpus, example)) == 1
        assert (example.label == NO_LABEL) == (len(example.second) == 0)


def test_sop_labels_agree_with_the_order_of_segments(corpus):
    for example in examples_of(corpus)[1]:
        if example.label != NO_LABEL:
            assert (sentences(example.second)[0] < sentences(example.first)[0]) == (example.label == SWAPPED)


@pytest.mark.parametrize("pairing", ["sop", "nsp"])
def test_sop_labels_are_balanced(corpus, pairing):
    labels = Counter(e.label for number in range(6) for e in examples_of(corpus, number=number, pairing=pairing)[1])
    share = labels[SWAPPED] / (labels[SWAPPED] + labels[IN_ORDER])
    assert share == pytest.approx(0.5, abs=0.03)


def test_nsp_negatives_come_from_another_document(corpus):
    for example in examples_of(corpus, pairing="nsp")[1]:
        if example.label != NO_LABEL:
            assert len(documents_in(corpus, example)) == (2 if example.label == SWAPPED else 1)


def test_nsp_partners_are_of_other_documents_where_there_are_only_two(tmp_path):
    corpus = make_corpus(tmp_path, [[[6] * 40, [6] * 40]])
    settings = SamplingSettings(max_length=16, pairing="nsp", short_seq_prob=0)
    source = ExampleSource(ExampleStream(corpus, settings, seed=1))
    epoch = source.stream.epoch(0)
    partners = source._draw_partners(epoch)
    exchanged = partners != np.arange(len(partners))
    assert exchanged.any()
    assert np.all(epoch.documents[exchanged] != epoch.documents[partners[exchanged]])


def test_nsp_negatives_change_from_epoch_to_epoch(corpus):
    first, second = (examples_of(corpus, pairing="nsp", number=n, short_seq_prob=0)[1] for n in (0, 1))
    assert [e.label for e in first] != [e.label for e in second]


def test_pairing_none_keeps_segments_in_order_without_a_label(corpus):
    for example in examples_of(corpus, pairing="none", single_sentence_policy="random_document")[1]:
        assert example.label == NO_LABEL
        assert sentences(example.first) + sentences(example.second) == sorted(
            set(sentences(example.first) + sentences(example.second))
        )


def test_a_single_segment_has_the_text_of_both_segments(corpus):
    settings = {"pairing": "none", "max_length": 512}
    two, one = (examples_of(corpus, **settings, single_segment=single)[1] for single in (False, True))
    assert any(len(example.second) for example in two)
    for pair, example in zip(two, one, strict=True):
        assert (len(example.second), example.label) == (0, NO_LABEL)
        assert example.length <= 512
        if pair.length < 512:
            assert np.array_equal(example.first, np.concatenate([pair.first, pair.second]))


@pytest.mark.parametrize("pairing", ["sop", "nsp"])
def test_a_single_segment_needs_pairing_none(pairing):
    with pytest.raises(ConfigError, match="single_segment"):
        SamplingSettings.parse({"pairing": pairing, "single_segment": True}, where="test")


@pytest.mark.parametrize("pairing", ["sop", "nsp"])
def test_random_document_policy_pairs_a_single_sentence(corpus, pairing):
    epoch, examples = examples_of(corpus, pairing=pairing, single_sentence_policy="random_document")
    single = np.diff(epoch.starts) == 1
    assert single.sum() > 30
    for example in (e for e, is_single in zip(examples, single, strict=True) if is_single):
        assert example.label == SWAPPED
        assert len(documents_in(corpus, example)) == 2
        assert example.length <= 48


def test_random_document_pairing_of_one_document_has_no_label(tmp_path):
    corpus = make_corpus(tmp_path, [[[60]]])
    example = examples_of(corpus, single_sentence_policy="random_document")[1][0]
    assert (example.label, len(example.first), len(example.second)) == (NO_LABEL, 46, 0)


def views(corpus, **settings):
    """The same examples under each pairing."""
    return [examples_of(corpus, pairing=pairing, **settings)[1] for pairing in get_args(Pairing)]


def test_pairings_draw_the_same_text(corpus):
    """So a model can be asked for sentence order and for next sentences on the same examples (ALBERT, table 5)."""
    for sop, nsp, none in zip(*views(corpus, max_length=512), strict=True):
        whole = np.concatenate([none.first, none.second])
        in_order = (sop.second, sop.first) if sop.label == SWAPPED else (sop.first, sop.second)
        assert np.array_equal(np.concatenate(in_order), whole)
        assert np.array_equal(nsp.first, none.first)
        assert (sop.label == NO_LABEL) == (nsp.label == NO_LABEL)
        if nsp.label == IN_ORDER:
            assert np.array_equal(nsp.second, none.second)


def test_pairings_truncate_and_mask_equal_pairs_alike(corpus):
    same = 0
    for sop, nsp, none in zip(*views(corpus, max_length=24), strict=True):
        if sop.label == nsp.label == IN_ORDER:
            same += 1
            assert np.array_equal(sop.first, nsp.first)
            assert np.array_equal(sop.second, nsp.second)
            assert sop.rng.random() == nsp.rng.random() == none.rng.random()
    assert same > 50


def test_sop_swaps_are_independent_of_nsp_exchanges(corpus):
    both = [
        (sop.label, nsp.label)
        for number in range(4)
        for sop, nsp, _ in zip(*views(corpus, number=number), strict=True)
        if sop.label != NO_LABEL
    ]
    share = np.mean([sop == nsp for sop, nsp in both])
    assert share == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(len(both)))


def test_random_document_policy_fills_the_target_or_reaches_the_end(corpus):
    """Source: `target_b_length = target_seq_length - len(tokens_a)` and the loop behind it."""
    epoch, examples = examples_of(corpus, single_sentence_policy="random_document", max_length=48, short_seq_prob=0)
    single = np.flatnonzero(np.diff(epoch.starts) == 1)
    starts, ends = set(), 0
    for index in single.tolist():
        example, room = examples[index], 45 - int(epoch.tokens[index])
        if room > 0:
            last = sentences(example.second)[-1]
            document = document_of(corpus, last)
            ends += document_of(corpus, last + 1) != document if last + 1 < corpus.num_sentences else 1
            full = len(example.second) >= room
            assert full or last + 1 == corpus.num_sentences or document_of(corpus, last + 1) != document
            starts.add(sentences(example.second)[0])
    assert 0 < ends < len(single)
    assert len(starts) > 0.6 * len(single), "anywhere in the corpus"


def test_random_document_policy_respects_short_targets(corpus):
    settings = SamplingSettings(max_length=48, short_seq_prob=1, single_sentence_policy="random_document")
    stream = ExampleStream(corpus, settings, seed=1)
    epoch, source = stream.epoch(0), ExampleSource(stream)
    targets = stream.targets(0)
    for index in np.flatnonzero(np.diff(epoch.starts) == 1).tolist():
        example = source.draw(epoch, index)
        room = max(1, targets[epoch.documents[index]] - int(epoch.tokens[index]))
        assert len(example.second) < room + 12, "the sentence that reaches the target is the last"


@pytest.mark.parametrize(("repeat", "same"), [(0, False), (1, True), (2, False), (3, True)])
def test_dupe_factor_repeats_labels_after_so_many_epochs(corpus, repeat, same):
    first, later = (
        [e.label for e in examples_of(corpus, number=n, short_seq_prob=0, dupe_factor=repeat)[1]] for n in (0, 3)
    )
    assert (first == later) == same


def test_example_does_not_depend_on_who_draws_it_and_when(corpus):
    settings = SamplingSettings(max_length=48)
    stream = ExampleStream(corpus, settings, seed=1)
    alone = ExampleSource(stream).draw(stream.epoch(4), 17)
    among = examples_of(corpus, number=4)[1][17]
    assert np.array_equal(alone.first, among.first)
    assert np.array_equal(alone.second, among.second)
    assert alone.rng.random() == among.rng.random()


def truncate_as_google_albert(first, second, room):
    """Lengths after the loop of google-research/albert."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(st.integers(0, 40), st.integers(0, 40), st.integers(5, 50), st.integers(0, 99))
def test_truncate_pair_equals_google_albert(first, second, room, seed):
    kept = truncate_pair(
        np.arange(first), np.arange(100, 100 + second), max_tokens=room, rng=np.random.default_rng(seed)
    )
    assert (len(kept[0]), len(kept[1])) == truncate_as_google_albert(first, second, room)
    for segment in kept:
        assert np.all(np.diff(segment) == 1)


def test_truncate_pair_drops_from_both_ends():
    rng = np.random.default_rng(0)
    fronts = [truncate_pair(np.arange(100), np.arange(0), max_tokens=60, rng=rng)[0][0] for _ in range(500)]
    assert np.mean(fronts) == pytest.approx(20, abs=0.5)
    assert np.std(fronts) == pytest.approx(np.sqrt(40 / 4), abs=0.4)


def test_split_sentences_at_random_is_uniform():
    rng = np.random.default_rng(0)
    edges = np.array([0, 5, 6, 20, 21])
    cuts = Counter(len(split_sentences_at_random(np.arange(21), edges, rng)[0]) for _ in range(3000))
    assert set(cuts) == {5, 6, 20}
    assert min(cuts.values()) > 900


def test_nsp_refuses_a_corpus_of_one_document(tmp_path):
    corpus = make_corpus(tmp_path, [[[5, 5, 5]]])
    with pytest.raises(ConfigError, match="the train split has one document, so pairing nsp has no pairs"):
        CorpusExamples(corpus, SamplingSettings(max_length=16, pairing="nsp"), seed=0)


@pytest.mark.parametrize(
    ("shards", "share"),
    [([[[50] * 9]], 0), ([[[50] * 4], [[50] * 4]], 0.25), ([[[5]] * 500], 0.499), ([[[50] * 9, [5]]], 0.09)],
)
def test_nsp_negative_share_is_below_half_with_few_documents(tmp_path, shards, share):
    corpus = make_corpus(tmp_path, shards)
    settings = SamplingSettings(max_length=53, pairing="nsp", short_seq_prob=0)
    assert nsp_negative_share(corpus, settings) == pytest.approx(share, abs=0.001)


def test_nsp_negative_share_is_the_share_that_is_drawn(corpus):
    settings = SamplingSettings(max_length=40, pairing="nsp", short_seq_prob=0)
    source = ExampleSource(ExampleStream(corpus, settings, seed=0))
    labels = [source.draw(epoch, index).label for epoch in map(source.stream.epoch, range(8)) for index in epoch.order]
    share = labels.count(SWAPPED) / (labels.count(SWAPPED) + labels.count(IN_ORDER))
    assert share == pytest.approx(nsp_negative_share(corpus, settings), abs=0.05)
