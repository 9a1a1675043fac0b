"""Which tokens of an example are to be predicted, and what is shown in their place. Before: grid. After: batches.

A grid of B examples is masked at once. Every number drawn is drawn for one example, from its own generator, so an
example is masked the same whatever stands beside it.
"""

from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.vocabulary import Vocabulary
from litebert.corpus.sampling.example_grid import ExampleGrid
from litebert.corpus.sampling.sampling_settings import SamplingSettings

NGRAM_WEIGHTS = {
    "shorter": lambda n: 1 / n,
    "equal": np.ones_like,
    "longer": lambda n: 1 / n[::-1],
    "geometric": lambda n: 0.8**n,
}


@dataclass(frozen=True)
class Words:
    """The units of masking in each example: W words, or single tokens."""

    of_token: np.ndarray
    """Int64 [B, S]: word that a token belongs to; means nothing where the token is not ordinary."""
    sizes: np.ndarray
    """Int64 [B, W]: tokens of each word; 0 after the last."""
    limits: np.ndarray
    """Int64 [B, W]: word before which an n-gram that begins here must end."""


@dataclass(frozen=True)
class Masked:
    """A grid as the model gets it."""

    input_ids: np.ndarray
    """Int64 [B, S]: what is shown."""
    ngrams: np.ndarray
    """Int64 [B, S]: first word of the n-gram that a token to be predicted belongs to; elsewhere -1."""

    @property
    def predicted(self) -> np.ndarray:
        """Bool [B, S]: where tokens are to be predicted."""
        return self.ngrams >= 0


def mask(grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings, *, mlm_probability: float) -> Masked:
    """Hide about `mlm_probability` of each example.

    Source: create_masked_lm_predictions of the original.
    """
    words = find_words(grid, vocabulary, settings)
    width = words.sizes.shape[1]
    present = np.arange(width) < np.count_nonzero(words.sizes, axis=1)[:, None]
    order = np.argsort(np.where(present, grid.draws[0, :, :width], 1), axis=1, kind="stable")
    ngram_of_word = choose_ngrams(
        words.sizes,
        np.minimum(words.limits - np.arange(width), _ngram_lengths(grid.draws[1, :, :width], settings)),
        order,
        budgets(grid.lengths, mlm_probability, settings.max_predictions_per_seq),
        max_ngram=settings.max_ngram,
    )
    ngrams = np.where(grid.ordinary, np.take_along_axis(ngram_of_word, words.of_token, axis=1), -1)
    return Masked(np.where(ngrams >= 0, _shown(grid, ngrams, vocabulary, settings), grid.input_ids), ngrams)


def find_words(grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings) -> Words:
    """Where words begin: at a token that can begin one, and at the beginning of what a word must not leave."""
    ordinary = grid.ordinary
    starts = ordinary.copy()
    if settings.mask_unit != "tokens":
        if settings.ngrams_cross_segments:
            begins = grid.positions == np.argmax(ordinary, axis=1)[:, None]
        else:
            begins = ~np.roll(ordinary, 1, axis=1)
        starts &= vocabulary.word_starts[grid.input_ids] | begins
    of_token = np.maximum(np.cumsum(starts, axis=1) - 1, 0)
    counts = starts.sum(axis=1)
    rows, width = np.arange(len(counts))[:, None], max(1, int(counts.max()))
    sizes = np.bincount((rows * width + of_token)[ordinary], minlength=len(counts) * width).reshape(-1, width)
    limits = np.broadcast_to(counts[:, None], sizes.shape)
    if not settings.ngrams_cross_segments:
        in_first = np.sum(starts & (grid.positions <= grid.first_lengths[:, None]), axis=1)[:, None]
        limits = np.where(np.arange(width) < in_first, in_first, limits)
    return Words(of_token, sizes, limits)


def choose_ngrams(
    sizes: np.ndarray, reach: np.ndarray, order: np.ndarray, budget: np.ndarray, *, max_ngram: int
) -> np.ndarray:
    """For each word the first word of the n-gram that takes it, or -1; Int64 [B, W].

    n-grams are taken in a random order until each example's budget of tokens is used. At each word: the longest n-gram
    of at most `reach` words that the rest of the budget allows; nothing, if one of its words is already taken. All
    examples take their step at the same time.
    """
    steps = np.arange(1, max_ngram + 1)[:, None]
    edges = np.pad(np.cumsum(sizes, axis=1), ((0, 0), (1, max_ngram)), mode="edge")
    edges[:, 0] = 0
    ngrams = np.full((len(sizes), sizes.shape[1] + max_ngram), -1)
    rows, left = np.arange(len(sizes)), budget.copy()
    for word in order.T:
        if not left.any():
            break
        tokens = edges[rows, word + steps] - edges[rows, word]
        inside = (tokens <= left) & (steps <= reach[rows, word])
        there = ngrams[rows, word + steps - 1]
        taken = inside & ~((there >= 0) & inside).any(axis=0)
        ngrams[rows, word + steps - 1] = np.where(taken, word, there)
        left -= np.max(tokens * taken, axis=0)
    return ngrams[:, : sizes.shape[1]]


def budgets(lengths: np.ndarray, mlm_probability: float, max_predictions_per_seq: int | None) -> np.ndarray:
    """Tokens to predict, at most, in examples of these lengths (special tokens count)."""
    share = np.maximum(1, np.rint(lengths * mlm_probability)).astype(np.int64)
    return share if max_predictions_per_seq is None else np.minimum(share, max_predictions_per_seq)


def ngram_probabilities(settings: SamplingSettings) -> np.ndarray:
    """p(n) for n in 1..max_ngram, as drawn; a budget that ends or a word that is taken changes what comes of it."""
    weights = NGRAM_WEIGHTS[settings.ngram_weights](np.arange(1, settings.max_ngram + 1, dtype=float))
    return weights / weights.sum()


def _ngram_lengths(uniform: np.ndarray, settings: SamplingSettings) -> np.ndarray:
    """Numbers of words in 1..max_ngram, distributed as the settings say."""
    bounds = np.cumsum(ngram_probabilities(settings))[:-1]
    return 1 + np.searchsorted(bounds, uniform, side="right")


def _shown(grid: ExampleGrid, ngrams: np.ndarray, vocabulary: Vocabulary, settings: SamplingSettings) -> np.ndarray:
    """What stands at each position if it is to be predicted: [MASK], a random token, or the token itself."""
    kind, which = grid.draws[2], grid.draws[3]
    if settings.replacement_unit == "ngram":
        kind = np.take_along_axis(kind, np.maximum(ngrams, 0), axis=1)
    ids = vocabulary.ordinary_ids if settings.random_tokens == "ordinary" else np.arange(vocabulary.size)
    replacement = ids[(which * len(ids)).astype(np.int64)]
    shown = np.where(kind < settings.mask_token_prob + settings.random_token_prob, replacement, grid.input_ids)
    return np.where(kind < settings.mask_token_prob, vocabulary.mask_id, shown)
