"""What many examples have in common, against what the definitions give: ten thousand, and with `-m slow` 10^5."""

from dataclasses import dataclass

import numpy as np
import pytest

from litebert.corpus.sampling.example_grid import ExampleGrid, to_grid
from litebert.corpus.sampling.masking import MaskedGrid, find_mask_units, mask_tokens, prediction_budgets
from litebert.corpus.sampling.mixture import Mixture
from litebert.corpus.sampling.pairing import IN_ORDER, NO_LABEL, SWAPPED, Example
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.manifest import write_manifest
from support.data.corpus_builders import FIRST_ID, make_corpus, vocabulary

SIZES = [10_000, pytest.param(100_000, marks=pytest.mark.slow)]
VOCAB_SIZE = 60_000
SETTINGS = SamplingSettings(max_length=128)
P = np.array([6, 3, 2]) / 11
LONGEST_WORD = 4


@dataclass
class Corpora:
    """One whose tokens tell their sentence, and one of words of one to four tokens."""

    sentences: Mixture
    words: Mixture


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    rng = np.random.default_rng(0)
    documents = [rng.integers(3, 40, rng.integers(1, 40)).tolist() for _ in range(2400)]
    by_sentence = make_corpus(
        tmp_path_factory.mktemp("sentences") / "corpus",
        [documents],
        vocab=vocabulary(word_starts=np.ones(VOCAB_SIZE, bool)),
    )
    # A token begins a word if its id is even; the third continuation in a row is made to begin one.
    worded = make_corpus(
        tmp_path_factory.mktemp("worded") / "corpus",
        [documents],
        vocab=vocabulary(word_starts=np.arange(VOCAB_SIZE) % 2 == 0),
    )
    tokens = np.load(worded.directory / "train/00000/tokens.npy")
    ids = rng.integers(FIRST_ID, VOCAB_SIZE, len(tokens))
    ids -= ids % 2 * (np.arange(len(ids)) % LONGEST_WORD == 0)
    np.save(worded.directory / "train/00000/tokens.npy", ids.astype(np.uint16))
    write_manifest(worded.directory)
    return Corpora(*(Mixture([(corpus, 1.0)], SETTINGS, seed=11) for corpus in (by_sentence, worded)))


def drawn(mixture: Mixture, size: int):
    return ((ref, ref.draw()) for ref in map(mixture.at, range(size)))


def within_three_sigma(found: float, expected: float, count: int) -> bool:
    """Of `count` independent trials of probability `expected`, the share `found` is no surprise."""
    return abs(found - expected) < 3 * np.sqrt(expected * (1 - expected) / count)


@pytest.mark.parametrize("size", SIZES)
def test_sop_pairs_are_of_one_document_and_half_are_swapped(corpora, size):
    corpus = corpora.sentences.parts[0].corpus
    document_of = np.repeat(np.arange(corpus.num_documents), np.diff(corpus.shard(0).documents))
    labels = []
    for ref, example in drawn(corpora.sentences, size):
        sentences = np.concatenate([example.first, example.second]).astype(int) - FIRST_ID
        assert set(document_of[[sentences.min(), sentences.max()]]) == {ref.epoch.documents[ref.index]}
        first, end = ref.epoch.starts[ref.index : ref.index + 2]
        assert first <= sentences.min() <= sentences.max() < end
        if example.label != NO_LABEL:
            assert (example.second[0] < example.first[0]) == (example.label == SWAPPED)
        labels.append(example.label)
    counts = {label: labels.count(label) for label in (IN_ORDER, SWAPPED)}
    pairs = sum(counts.values())
    assert pairs > 0.8 * size
    assert counts[SWAPPED] / pairs == pytest.approx(0.5, abs=0.01 if size > 10_000 else 0.02)
    assert within_three_sigma(counts[SWAPPED] / pairs, 0.5, pairs)


def test_examples_have_every_sentence_once_per_epoch(corpora):
    stream = corpora.sentences.parts[0].source(0).stream
    for number in range(11):
        starts = stream.epoch(number).starts
        assert (starts[0], starts[-1]) == (0, stream.corpus.num_sentences)
        assert np.all(np.diff(starts) > 0)
        assert len(stream.epoch(number).order) == len(starts) - 1


@pytest.fixture(scope="module", params=SIZES)
def masks(request, corpora):
    """Grids of examples and their masks."""
    examples = [example for _, example in drawn(corpora.words, request.param)]
    return [masked(corpora, examples[start : start + 500]) for start in range(0, len(examples), 500)]


def masked(corpora, examples: list[Example]) -> tuple[ExampleGrid, MaskedGrid]:
    vocab = corpora.words.parts[0].corpus.vocabulary
    grid = to_grid(examples, vocab)
    return grid, mask_tokens(grid, vocab, SETTINGS, mlm_probability=0.15)


def words_of(corpora, grid):
    return find_mask_units(grid, corpora.words.parts[0].corpus.vocabulary, SETTINGS)


def test_masking_keeps_budgets_words_and_special_tokens(corpora, masks):
    for grid, hidden in masks:
        assert np.all(hidden.predicted.sum(axis=1) <= prediction_budgets(grid.lengths, 0.15, None))
        assert np.all(grid.input_ids[hidden.predicted] >= FIRST_ID)
        assert np.array_equal(hidden.input_ids[~hidden.predicted], grid.input_ids[~hidden.predicted])
        words = words_of(corpora, grid)
        rows = np.arange(len(grid.lengths))[:, None] * words.lengths.shape[1]
        inside = np.bincount((rows + words.word_of_token)[hidden.predicted], minlength=words.lengths.size)
        assert np.all((inside == 0) | (inside == words.lengths.ravel())), "words are whole"


def test_masking_uses_nearly_all_of_the_budget(masks):
    used = sum(int(hidden.predicted.sum()) for _, hidden in masks)
    allowed = sum(int(prediction_budgets(grid.lengths, 0.15, None).sum()) for grid, _ in masks)
    assert 0.98 < used / allowed <= 1


def test_masking_replacements_are_80_10_10(masks):
    """Of the random ones, one in as many as there are ordinary ids happens to be the token itself."""
    shown = np.concatenate([hidden.input_ids[hidden.predicted] for _, hidden in masks])
    labels = np.concatenate([grid.input_ids[hidden.predicted] for grid, hidden in masks])
    chance = 0.1 / (VOCAB_SIZE - 5)
    assert within_three_sigma((shown == 4).mean(), 0.8, len(shown))
    assert within_three_sigma((shown == labels).mean(), 0.1 + chance, len(shown))
    assert within_three_sigma(((shown != labels) & (shown != 4)).mean(), 0.1 - chance, len(shown))


def words_in(ngram: int, ngrams: np.ndarray, of_token: np.ndarray) -> int:
    """Number of words of one n-gram of one example."""
    inside = of_token[ngrams == ngram]
    return int(inside[-1] - inside[0]) + 1


def test_masking_first_ngram_has_the_drawn_length(corpora, masks):
    """It finds the whole budget, so p(n) is exact but for starts too near the end of a segment, which are counted.

    With W words in k segments, each start is as likely: k of W have room for one word only, k for two.
    """
    found, expected = [], []
    for grid, hidden in masks:
        words = words_of(corpora, grid)
        for row in np.flatnonzero(prediction_budgets(grid.lengths, 0.15, None) >= 3 * LONGEST_WORD).tolist():
            total, in_first = np.count_nonzero(words.lengths[row]), words.ngram_limits[row, 0]
            segments = [size for size in (in_first, total - in_first) if size]
            if min(segments) < 3:
                continue
            start = int(np.argmin(grid.draws.ngram_order[row, :total]))
            found.append(words_in(start, hidden.ngrams[row], words.word_of_token[row]))
            edge = len(segments) / total
            expected.append([P[0] + edge * (P[1] + P[2]), P[1] * (1 - edge) + P[2] * edge, P[2] * (1 - 2 * edge)])
    assert np.mean(expected, axis=0).sum() == pytest.approx(1)
    for n, share in enumerate(np.mean(expected, axis=0), start=1):
        assert within_three_sigma(np.mean(np.array(found) == n), share, len(found))


def ngrams_as_google_albert(sizes: list[int], limits: list[int], budget: int, rng: np.random.Generator) -> list[int]:
    """Counts of n-gram lengths when the loop of google-research/albert fills a budget."""
    counts, taken, used = [0, 0, 0], set(), 0
    drawn = 1 + rng.choice(3, size=len(sizes), p=P)
    for word in rng.permutation(len(sizes)).tolist():
        if used >= budget:
            break
        n = min(int(drawn[word]), limits[word] - word)
        while n and used + sum(sizes[word : word + n]) > budget:
            n -= 1
        if n and taken.isdisjoint(range(word, word + n)):
            taken.update(range(word, word + n))
            used += sum(sizes[word : word + n])
            counts[n - 1] += 1
    return counts


def test_masking_ngram_lengths_are_distributed_as_in_google_albert(corpora, masks):
    """Over all n-grams shorter ones gain, since what is left of the budget often has no room for the drawn one."""
    rng = np.random.default_rng(5)
    own, reference = [], []
    for grid, hidden in masks:
        words, most = words_of(corpora, grid), prediction_budgets(grid.lengths, 0.15, None)
        for row in range(0, len(grid.lengths), max(1, len(masks) // 10)):
            ngrams = hidden.ngrams[row]
            lengths = [words_in(n, ngrams, words.word_of_token[row]) for n in np.unique(ngrams[ngrams >= 0])]
            own.append([lengths.count(n) for n in (1, 2, 3)])
            total = np.count_nonzero(words.lengths[row])
            by_word = (array[row, :total].tolist() for array in (words.lengths, words.ngram_limits))
            reference.append(ngrams_as_google_albert(*by_word, int(most[row]), rng))
    difference = np.mean(own, axis=0) - np.mean(reference, axis=0)
    sigma = np.sqrt((np.var(own, axis=0) + np.var(reference, axis=0)) / len(own))
    assert np.all(np.abs(difference) < 3 * sigma)
    assert np.mean(own, axis=0)[0] / np.mean(own, axis=0).sum() > P[0] + 0.03
