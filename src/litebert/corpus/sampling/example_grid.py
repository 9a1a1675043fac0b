"""Examples side by side, ready to be masked at once. Before: pairing. After: masking, batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.vocabulary import Vocabulary
from litebert.corpus.sampling.pairing import Example

DRAWS = 4
"""Uniform numbers drawn for each position: order of the n-grams, length of the n-gram, what is shown, which token."""


@dataclass(frozen=True)
class ExampleGrid:
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
    def positions(self) -> np.ndarray:
        """Int64 [S]."""
        return np.arange(self.input_ids.shape[1])

    @property
    def real(self) -> np.ndarray:
        """Bool [B, S]: not padding."""
        return self.positions < self.lengths[:, None]

    @property
    def ordinary(self) -> np.ndarray:
        """Bool [B, S]: neither padding nor the place of a special token."""
        positions, last = self.positions, self.lengths[:, None] - 1
        return (positions > 0) & (positions < last) & (positions != self.first_lengths[:, None] + 1)

    @property
    def in_second(self) -> np.ndarray:
        """Bool [B, S]: in the second segment or its [SEP]."""
        return self.real & (self.positions > self.first_lengths[:, None] + 1)


def to_grid(examples: Sequence[Example], vocabulary: Vocabulary) -> ExampleGrid:
    """[CLS] first [SEP] second [SEP] of each example, padded to the longest, and what its mask is drawn from."""
    lengths = np.array([example.length for example in examples])
    input_ids = np.full((len(examples), int(lengths.max())), vocabulary.pad_id, dtype=np.int64)
    draws = np.zeros((DRAWS, *input_ids.shape))
    for row, example in enumerate(examples):
        middle = 1 + len(example.first)
        input_ids[row, 0] = vocabulary.cls_id
        input_ids[row, 1:middle] = example.first
        input_ids[row, middle + 1 : example.length - 1] = example.second
        input_ids[row, [middle, example.length - 1]] = vocabulary.sep_id
        draws[:, row, : example.length] = example.rng.random((DRAWS, example.length))
    return ExampleGrid(input_ids, lengths, np.array([len(example.first) for example in examples]), draws)
