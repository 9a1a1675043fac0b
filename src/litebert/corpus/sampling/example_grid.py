"""A batch of examples as padded arrays, together with the random numbers that masking uses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.shards import Vocabulary
from litebert.corpus.sampling.pairing import Example


@dataclass(frozen=True)
class MaskingDraws:
    """The uniform random numbers that decide the masks of a grid, each float64 [B, S] in [0, 1)."""

    ngram_order: np.ndarray
    """Order in which words are tried as the first word of an n-gram; entry w belongs to word w."""
    ngram_length: np.ndarray
    """Number of words of the n-gram that starts at a word; entry w belongs to word w."""
    replacement: np.ndarray
    """Whether a position is shown as [MASK], as a random token or unchanged."""
    random_token: np.ndarray
    """Which random token replaces a position."""


NUM_DRAWS = len(MaskingDraws.__dataclass_fields__)


@dataclass(frozen=True)
class ExampleGrid:
    """B examples of up to S tokens, special tokens included, padded at the end."""

    input_ids: np.ndarray
    """Int64 [B, S]."""
    lengths: np.ndarray
    """Int64 [B]: tokens of each example."""
    first_lengths: np.ndarray
    """Int64 [B]: tokens of the first segment, without special tokens."""
    draws: MaskingDraws

    @property
    def positions(self) -> np.ndarray:
        """Int64 [S]: 0, 1, 2, …"""
        return np.arange(self.input_ids.shape[1])

    @property
    def attention_mask(self) -> np.ndarray:
        """Bool [B, S]: True where there is a token, False at padding."""
        return self.positions < self.lengths[:, None]

    @property
    def maskable(self) -> np.ndarray:
        """Bool [B, S]: neither padding nor one of the positions of [CLS] and [SEP]."""
        positions, last = self.positions, self.lengths[:, None] - 1
        return (positions > 0) & (positions < last) & (positions != self.first_lengths[:, None] + 1)

    @property
    def in_second_segment(self) -> np.ndarray:
        """Bool [B, S]: in the second segment or its [SEP]."""
        return self.attention_mask & (self.positions > self.first_lengths[:, None] + 1)


def to_grid(examples: Sequence[Example], vocabulary: Vocabulary) -> ExampleGrid:
    """[CLS] first [SEP] second [SEP] of each example, padded to the longest, with its random numbers."""
    lengths = np.array([example.length for example in examples])
    input_ids = np.full((len(examples), int(lengths.max())), vocabulary.pad_id, dtype=np.int64)
    draws = np.zeros((NUM_DRAWS, *input_ids.shape))
    for row, example in enumerate(examples):
        middle = 1 + len(example.first)
        input_ids[row, 0] = vocabulary.cls_id
        input_ids[row, 1:middle] = example.first
        input_ids[row, middle + 1 : example.length - 1] = example.second
        input_ids[row, [middle, example.length - 1]] = vocabulary.sep_id
        draws[:, row, : example.length] = example.rng.random((NUM_DRAWS, example.length))
    first_lengths = np.array([len(example.first) for example in examples])
    return ExampleGrid(input_ids, lengths, first_lengths, MaskingDraws(*draws))
