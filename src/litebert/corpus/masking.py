"""Which tokens of an example are to be predicted, and what is shown in their place. Before: pairing. After: batches.

A grid of B examples is masked at once. Every number drawn is drawn for one example, from its own generator, so an
example is masked the same whatever stands beside it.
"""

from dataclasses import dataclass

import numpy as np

from litebert.corpus.example_settings import ExampleSettings
from litebert.corpus.vocabulary import Vocabulary

DRAWS = 4
"""Uniform numbers drawn for each position: order of the n-grams, length of the n-gram, what is shown, which token."""
NGRAM_WEIGHTS = {
    "shorter": lambda n: 1 / n,
    "equal": np.ones_like,
    "longer": lambda n: 1 / n[::-1],
}


@dataclass(frozen=True)
class Grid:
    """B examples of up to S tokens, special tokens included, padded at the end."""

    input_ids: np.ndarray
    """Int64 [B, S]."""
    lengths: np.ndarray
    """Int64 [B]: tokens of each example."""
    first_lengths: np.ndarray
    """Int64 [B]: tokens of its first segment, without special tokens."""
    draws: np.ndarray
    """Float64 [DRAWS, B, S] in [0, 1)."""

    @property
    def ordinary(self) -> np.ndarray:
        """Bool [B, S]: neither padding nor the place of a special token."""
        positions = np.arange(self.input_ids.shape[1])
        last = self.lengths[:, None] - 1
        return (positions > 0) & (positions < last) & (positions != self.first_lengths[:, None] + 1)


@dataclass(frozen=True)
class Words:
    """The units of masking in each example: W words, or single tokens."""

    of_token: np.ndarray
    """Int64 [B, S]: word that a token belongs to; means nothing where the token is not ordinary."""
    sizes: np.ndarray
    """Int64 [B, W]: tokens of each word; 0 after the last."""
    limits: np.ndarray
    """Int64 [B, W]: word before which an n-gram that begins here must end."""


def mask(grid: Grid, vocabulary: Vocabulary, settings: ExampleSettings) -> tuple[np.ndarray, np.ndarray]:
    """The ids to show, Int64 [B, S], and where tokens are to be predicted, Bool [B, S].

    Source: create_masked_lm_predictions of the original.
    """
    words = find_words(grid, vocabulary, settings)
    width = words.sizes.shape[1]
    present = np.arange(width) < np.count_nonzero(words.sizes, axis=1)[:, None]
    order = np.argsort(np.where(present, grid.draws[0, :, :width], 1), axis=1, kind="stable")
    chosen = choose_ngrams(
        words.sizes,
        np.minimum(words.limits - np.arange(width), _ngram_lengths(grid.draws[1, :, :width], settings)),
        order,
        budgets(grid.lengths, settings),
        max_ngram=settings.max_ngram,
    )
    predicted = grid.ordinary & np.take_along_axis(chosen, words.of_token, axis=1)
    return np.where(predicted, _shown(grid, vocabulary, settings), grid.input_ids), predicted


def find_words(grid: Grid, vocabulary: Vocabulary, settings: ExampleSettings) -> Words:
    """Where words begin: at a token that can begin one, and at the beginning of a segment."""
    ordinary = grid.ordinary
    starts = ordinary.copy()
    if settings.mask_unit == "words":
        segment_starts = ordinary & ~np.roll(ordinary, 1, axis=1)
        starts &= vocabulary.word_starts[grid.input_ids] | segment_starts
    of_token = np.maximum(np.cumsum(starts, axis=1) - 1, 0)
    counts = starts.sum(axis=1)
    rows, width = np.arange(len(counts))[:, None], max(1, int(counts.max()))
    sizes = np.bincount((rows * width + of_token)[ordinary], minlength=len(counts) * width).reshape(-1, width)
    limits = np.broadcast_to(counts[:, None], sizes.shape)
    if not settings.across_segments:
        in_first = np.sum(starts & (np.arange(starts.shape[1]) <= grid.first_lengths[:, None]), axis=1)[:, None]
        limits = np.where(np.arange(width) < in_first, in_first, limits)
    return Words(of_token, sizes, limits)


def choose_ngrams(
    sizes: np.ndarray, reach: np.ndarray, order: np.ndarray, budget: np.ndarray, *, max_ngram: int
) -> np.ndarray:
    """Words to predict, Bool [B, W]: n-grams taken in a random order until each example's budget of tokens is used.

    At each word: the longest n-gram of at most `reach` words that the rest of the budget allows; nothing, if one of
    its words is already taken. All examples take their step at the same time.
    """
    steps = np.arange(1, max_ngram + 1)[:, None]
    edges = np.pad(np.cumsum(sizes, axis=1), ((0, 0), (1, max_ngram)), mode="edge")
    edges[:, 0] = 0
    chosen = np.zeros((len(sizes), sizes.shape[1] + max_ngram), dtype=bool)
    rows, left = np.arange(len(sizes)), budget.copy()
    for word in order.T:
        if not left.any():
            break
        tokens = edges[rows, word + steps] - edges[rows, word]
        inside = (tokens <= left) & (steps <= reach[rows, word])
        taken = inside & ~(chosen[rows, word + steps - 1] & inside).any(axis=0)
        chosen[rows, word + steps - 1] |= taken
        left -= np.max(tokens * taken, axis=0)
    return chosen[:, : sizes.shape[1]]


def budgets(lengths: np.ndarray, settings: ExampleSettings) -> np.ndarray:
    """Tokens to predict, at most, in examples of these lengths (special tokens count)."""
    share = np.maximum(1, np.rint(lengths * settings.masked_fraction)).astype(np.int64)
    return share if settings.max_predictions is None else np.minimum(share, settings.max_predictions)


def _ngram_lengths(uniform: np.ndarray, settings: ExampleSettings) -> np.ndarray:
    """Numbers of words in 1..max_ngram, distributed as the settings say."""
    weights = NGRAM_WEIGHTS[settings.ngram_weights](np.arange(1, settings.max_ngram + 1, dtype=float))
    bounds = np.cumsum(weights / weights.sum())[:-1]
    return 1 + np.searchsorted(bounds, uniform, side="right")


def _shown(grid: Grid, vocabulary: Vocabulary, settings: ExampleSettings) -> np.ndarray:
    """What stands at each position if it is to be predicted: [MASK], a random token, or the token itself."""
    kind, which = grid.draws[2], grid.draws[3]
    ids = vocabulary.ordinary_ids if settings.random_tokens == "ordinary" else np.arange(vocabulary.size)
    replacement = ids[(which * len(ids)).astype(np.int64)]
    shown = np.where(kind < settings.mask_probability + settings.random_probability, replacement, grid.input_ids)
    return np.where(kind < settings.mask_probability, vocabulary.mask_id, shown)
