"""Sequence packing: several examples in one row, so that a batch has little padding.

Packing changes the layout only. Examples, masks and labels of a step are those of unpacked rows, and the model keeps
the examples apart (`sequence_starts`), so losses and gradients are the same.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

PAD_MULTIPLE = 8
"""Row lengths are multiples of this, because kernels are faster on such shapes."""


def pack_examples(lengths: Sequence[int], *, capacity: int) -> list[list[int]]:
    """Indices of the examples of each row of at most `capacity` tokens; every example is in one row.

    Best-fit decreasing: the longest example first, each into the row with the least space that is sufficient.
    """
    rows: list[list[int]] = []
    open_rows: list[tuple[int, int]] = []  # (free tokens, row), ascending
    for index in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        best = bisect_left(open_rows, (lengths[index], -1))
        if best == len(open_rows):
            rows.append([])
            free, row = capacity, len(rows) - 1
        else:
            free, row = open_rows.pop(best)
        rows[row].append(index)
        insort(open_rows, (free - lengths[index], row))
    return rows


@dataclass(frozen=True)
class RowLayout:
    """Where X examples of up to S tokens are in R rows of W positions."""

    sequence_starts: np.ndarray
    """Int64 [X]: flat position row * W + column of the first token of each example, ascending."""
    attention_mask: np.ndarray
    """Bool [X, S]: where an example has a token."""
    shape: tuple[int, int]
    """R and W."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], *, capacity: int) -> Self:
        """The layout of rows that consist of examples of these lengths."""
        lengths = np.array([length for row in rows for length in row])
        longest_row = max(map(sum, rows))
        width = min(capacity, -(-longest_row // PAD_MULTIPLE) * PAD_MULTIPLE)
        columns = np.concatenate([np.cumsum([0, *row[:-1]]) for row in rows])
        starts = np.repeat(np.arange(len(rows)), [len(row) for row in rows]) * width + columns
        return cls(starts, np.arange(int(lengths.max())) < lengths[:, None], (len(rows), width))

    @property
    def is_packed(self) -> bool:
        """Whether a row holds more than one example."""
        return len(self.sequence_starts) > self.shape[0]

    @property
    def flat_positions(self) -> np.ndarray:
        """Int64 [X, S]: flat position row * W + column of each token."""
        return self.sequence_starts[:, None] + np.arange(self.attention_mask.shape[1])

    def to_rows(self, values: np.ndarray, *, padding: int) -> np.ndarray:
        """Values of examples, [X, S], as values of rows, [R, W]."""
        out = np.full(self.shape[0] * self.shape[1], padding, dtype=values.dtype)
        out[self.flat_positions[self.attention_mask]] = values[self.attention_mask]
        return out.reshape(self.shape)
