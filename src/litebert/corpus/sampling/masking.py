"""Masked language modelling: which tokens are predicted, and what the model sees in their place.

All examples of a grid are masked at once with numpy. Every random number belongs to one example and comes from the
generator of that example, so its mask does not depend on the other examples of the batch.
"""

from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.shards import Vocabulary
from litebert.corpus.sampling.example_grid import ExampleGrid
from litebert.corpus.sampling.sampling_settings import SamplingSettings

NGRAM_WEIGHTS = {
    "inverse": lambda n: 1 / n,
    "uniform": np.ones_like,
    "reversed": lambda n: 1 / n[::-1],
    "geometric": lambda n: 0.8**n,
}


@dataclass(frozen=True)
class MaskUnits:
    """The W units of masking in each example: whole words, or single tokens. They are called words here."""

    word_of_token: np.ndarray
    """Int64 [B, S]: index of the word that a token belongs to; undefined where the token is not maskable."""
    lengths: np.ndarray
    """Int64 [B, W]: tokens of each word; 0 after the last word."""
    ngram_limits: np.ndarray
    """Int64 [B, W]: index of the word before which an n-gram that starts at this word must end."""


@dataclass(frozen=True)
class MaskedGrid:
    """The input of the model and the positions to predict."""

    input_ids: np.ndarray
    """Int64 [B, S]: tokens after masking."""
    ngrams: np.ndarray
    """Int64 [B, S]: index of the first word of the n-gram that a predicted token belongs to; elsewhere -1."""

    @property
    def predicted(self) -> np.ndarray:
        """Bool [B, S]: the positions to predict."""
        return self.ngrams >= 0


def mask_tokens(
    grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings, *, mlm_probability: float
) -> MaskedGrid:
    """Choose about `mlm_probability` of the tokens of each example and replace them.

    Source: `create_masked_lm_predictions` in google-research/albert.
    """
    units = find_mask_units(grid, vocabulary, settings)
    width = units.lengths.shape[1]
    exists = np.arange(width) < np.count_nonzero(units.lengths, axis=1)[:, None]
    order = np.argsort(np.where(exists, grid.draws.ngram_order[:, :width], 1), axis=1, kind="stable")
    drawn_lengths = _draw_ngram_lengths(grid.draws.ngram_length[:, :width], settings)
    ngram_of_word = choose_ngrams(
        units.lengths,
        np.minimum(units.ngram_limits - np.arange(width), drawn_lengths),
        order,
        prediction_budgets(grid.lengths, mlm_probability, settings.max_predictions_per_seq),
        max_ngram=settings.max_ngram,
    )
    ngrams = np.where(grid.maskable, np.take_along_axis(ngram_of_word, units.word_of_token, axis=1), -1)
    return MaskedGrid(np.where(ngrams >= 0, _replacements(grid, ngrams, vocabulary, settings), grid.input_ids), ngrams)


def find_mask_units(grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings) -> MaskUnits:
    """Group tokens into words: a word starts at a token that can start one, and at the start of a segment."""
    maskable = grid.maskable
    starts = maskable.copy()
    if settings.mask_unit != "token":
        if settings.ngrams_cross_segments:
            segment_starts = grid.positions == np.argmax(maskable, axis=1)[:, None]
        else:
            segment_starts = ~np.roll(maskable, 1, axis=1)
        starts &= vocabulary.word_starts[grid.input_ids] | segment_starts
    word_of_token = np.maximum(np.cumsum(starts, axis=1) - 1, 0)
    counts = starts.sum(axis=1)
    rows, width = np.arange(len(counts))[:, None], max(1, int(counts.max()))
    flat_words = (rows * width + word_of_token)[maskable]
    lengths = np.bincount(flat_words, minlength=len(counts) * width).reshape(-1, width)
    limits = np.broadcast_to(counts[:, None], lengths.shape)
    if not settings.ngrams_cross_segments:
        in_first = np.sum(starts & (grid.positions <= grid.first_lengths[:, None]), axis=1)[:, None]
        limits = np.where(np.arange(width) < in_first, in_first, limits)
    return MaskUnits(word_of_token, lengths, limits)


def choose_ngrams(
    lengths: np.ndarray, max_words: np.ndarray, order: np.ndarray, budget: np.ndarray, *, max_ngram: int
) -> np.ndarray:
    """For each word the first word of the n-gram that was chosen with it, or -1; Int64 [B, W].

    Words are visited in `order` until the budget of tokens of each example is used. At each word the longest n-gram is
    chosen that has at most `max_words` words and fits into the rest of the budget; if one of its words was chosen
    before, nothing is. The loop runs over the visits; all examples make a visit at the same time.

    Example: one sentence of four words with lengths [[1, 2, 1, 1]], order [[2, 0, 1, 3]], max_words [[2, 1, 2, 1]] and
    a budget of 3 tokens. The visit of word 2 chooses words 2 and 3 (2 tokens, 1 left). The visit of word 0 may take two
    words, but these have 3 tokens, so it chooses word 0 alone (0 left). The result is [[0, -1, 2, 2]].
    """
    sizes = np.arange(1, max_ngram + 1)[:, None]
    # token_offsets[b, w]: tokens before word w. It is padded at the end so that w + n never leaves the array.
    token_offsets = np.pad(np.cumsum(lengths, axis=1), ((0, 0), (1, max_ngram)), mode="edge")
    token_offsets[:, 0] = 0
    ngrams = np.full((len(lengths), lengths.shape[1] + max_ngram), -1)
    rows, left = np.arange(len(lengths)), budget.copy()
    for word in order.T:
        if not left.any():
            break
        tokens = token_offsets[rows, word + sizes] - token_offsets[rows, word]  # [max_ngram, B]
        fits = (tokens <= left) & (sizes <= max_words[rows, word])
        current = ngrams[rows, word + sizes - 1]
        chosen = fits & ~((current >= 0) & fits).any(axis=0)
        ngrams[rows, word + sizes - 1] = np.where(chosen, word, current)
        left -= np.max(tokens * chosen, axis=0)
    return ngrams[:, : lengths.shape[1]]


def prediction_budgets(lengths: np.ndarray, mlm_probability: float, max_predictions_per_seq: int | None) -> np.ndarray:
    """Maximum number of tokens to predict in examples of these lengths; special tokens count as length."""
    budgets = np.maximum(1, np.rint(lengths * mlm_probability)).astype(np.int64)
    return budgets if max_predictions_per_seq is None else np.minimum(budgets, max_predictions_per_seq)


def ngram_probabilities(settings: SamplingSettings) -> np.ndarray:
    """p(n) for n in 1..max_ngram as drawn; chosen n-grams are shorter where the budget ends or words overlap."""
    weights = NGRAM_WEIGHTS[settings.ngram_weights](np.arange(1, settings.max_ngram + 1, dtype=float))
    return weights / weights.sum()


def _draw_ngram_lengths(uniform: np.ndarray, settings: SamplingSettings) -> np.ndarray:
    """Lengths in 1..max_ngram, by inverting the cumulative distribution."""
    bounds = np.cumsum(ngram_probabilities(settings))[:-1]
    return 1 + np.searchsorted(bounds, uniform, side="right")


def _replacements(
    grid: ExampleGrid, ngrams: np.ndarray, vocabulary: Vocabulary, settings: SamplingSettings
) -> np.ndarray:
    """What each position shows if it is predicted: [MASK], a random token, or the token itself."""
    uniform = grid.draws.replacement
    if settings.replacement_unit == "ngram":
        uniform = np.take_along_axis(uniform, np.maximum(ngrams, 0), axis=1)
    exclude_special = settings.random_tokens == "exclude_special"
    ids = vocabulary.non_special_ids if exclude_special else np.arange(vocabulary.size)
    random_ids = ids[(grid.draws.random_token * len(ids)).astype(np.int64)]
    shown = np.where(uniform < settings.mask_token_prob + settings.random_token_prob, random_ids, grid.input_ids)
    return np.where(uniform < settings.mask_token_prob, vocabulary.mask_id, shown)


@dataclass(frozen=True)
class Targets:
    """Inputs and labels of B examples of up to S tokens."""

    input_ids: np.ndarray
    """Int64 [B, S]: what the model reads."""
    predicted: np.ndarray
    """Bool [B, S]: where a token is predicted, at P positions."""
    labels: np.ndarray
    """Int64 [P]: the tokens to predict there, in the order of the positions."""


def masked_tokens(
    grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings, *, mlm_probability: float
) -> Targets:
    """The original tokens at masked positions."""
    masked = mask_tokens(grid, vocabulary, settings, mlm_probability=mlm_probability)
    return Targets(masked.input_ids, masked.predicted, grid.input_ids[masked.predicted])


def next_tokens(grid: ExampleGrid) -> Targets:
    """Nothing masked; at each position but the last one of an example the token after it."""
    follows = grid.attention_mask[:, 1:]
    predicted = np.pad(follows, ((0, 0), (0, 1)))
    return Targets(grid.input_ids, predicted, grid.input_ids[:, 1:][follows])
