"""Several examples in one row, so that little of a batch is padding. Before: examples. After: batches.

Packing is layout only: the examples of a step, their masks and labels are those of unpacked rows, and the model keeps
them apart (`sequence_starts`), so losses and gradients are the same.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

PAD_MULTIPLE = 8
"""Lengths of rows are multiples of this, which fast kernels like."""


def pack(lengths: Sequence[int], *, capacity: int) -> list[list[int]]:
    """Indices of examples that share a row of at most `capacity` tokens; every example is in one row.

    Best fit decreasing: the longest first, each into the fullest row that has room for it.
    """
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (tokens left, row), ascending
    for index in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        place = bisect_left(rooms, (lengths[index], -1))
        if place == len(rooms):
            rows.append([])
            room, row = capacity, len(rows) - 1
        else:
            room, row = rooms.pop(place)
        rows[row].append(index)
        insort(rooms, (room - lengths[index], row))
    return rows


@dataclass(frozen=True)
class Layout:
    """Where X examples of up to S tokens stand in R rows of W."""

    starts: np.ndarray
    """Int64 [X]: flat position row * W + column of the first token of each example, ascending."""
    real: np.ndarray
    """Bool [X, S]: where there is a token."""
    shape: tuple[int, int]
    """R and W."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], *, capacity: int) -> Self:
        """The layout of rows of examples of these lengths, one behind the other."""
        lengths = np.array([length for row in rows for length in row])
        widest = max(map(sum, rows))
        width = min(capacity, -(-widest // PAD_MULTIPLE) * PAD_MULTIPLE)
        columns = np.concatenate([np.cumsum([0, *row[:-1]]) for row in rows])
        starts = np.repeat(np.arange(len(rows)), [len(row) for row in rows]) * width + columns
        return cls(starts, np.arange(int(lengths.max())) < lengths[:, None], (len(rows), width))

    @property
    def is_packed(self) -> bool:
        """Whether a row holds more than one example."""
        return len(self.starts) > self.shape[0]

    @property
    def flat(self) -> np.ndarray:
        """Int64 [X, S]: where each token of each example goes in the flattened rows."""
        return self.starts[:, None] + np.arange(self.real.shape[1])

    def spread(self, values: np.ndarray, *, padding: int) -> np.ndarray:
        """[X, S] values of examples as [R, W] values of rows."""
        out = np.full(self.shape[0] * self.shape[1], padding, dtype=values.dtype)
        out[self.flat[self.real]] = values[self.real]
        return out.reshape(self.shape)
