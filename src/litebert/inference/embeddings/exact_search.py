"""The nearest vectors by dot product, exactly."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from litebert.errors import ConfigError, DataError

ROWS_PER_BLOCK: Final = 16_384
"""Vectors that are compared at once, so that memory does not grow with their number."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One vector that was found."""

    index: int
    """Its row, from 0."""
    score: float
    """The dot product with the query: the cosine, if both have length 1."""


def exact_search(queries: np.ndarray, vectors: np.ndarray, *, top_k: int) -> list[list[Hit]]:
    """For each query the `top_k` vectors with the largest dot products, best first; of equal ones the first rows.

    Products are rounded: those of equal vectors may differ in the last digit.

    Args:
        queries: float32 [Q, D].
        vectors: float32 [N, D], which may be mapped into memory.
        top_k: vectors for each query; all N, if there are fewer.

    Raises:
        ConfigError: queries and vectors do not fit together.
        DataError: a vector is not finite.
    """
    validate_dimensions(queries, vectors)
    indices = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(vectors), ROWS_PER_BLOCK):
        block = queries @ vectors[start : start + ROWS_PER_BLOCK].T
        if not np.isfinite(block).all():
            raise DataError("vectors: some are NaN or infinite; embed the texts again")
        rows = np.broadcast_to(np.arange(start, start + block.shape[1]), block.shape)
        indices, scores = _best(np.hstack([indices, rows]), np.hstack([scores, block]), top_k)
    return [[Hit(int(i), float(s)) for i, s in zip(*each, strict=True)] for each in zip(indices, scores, strict=True)]


def validate_dimensions(queries: np.ndarray, vectors: np.ndarray) -> None:
    """Raise ConfigError unless queries and vectors are matrices with the same number of dimensions."""
    if getattr(vectors, "ndim", None) != 2:
        raise ConfigError(f"vectors: expected an array [N, D] from `embed`, found {type(vectors).__name__}")
    if queries.shape[1] != vectors.shape[1]:
        raise ConfigError(
            f"vectors: they have {vectors.shape[1]} dimensions, the queries {queries.shape[1]}; "
            "embed both with the same model and settings"
        )


def _best(indices: np.ndarray, scores: np.ndarray, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the `top_k` largest scores of each row; columns are in the order of the indices on a tie."""
    kept = min(top_k, scores.shape[1])
    columns = np.stack([_largest(row, kept) for row in scores]) if len(scores) else np.empty((0, kept), np.int64)
    return np.take_along_axis(indices, columns, 1), np.take_along_axis(scores, columns, 1)


def _largest(scores: np.ndarray, kept: int) -> np.ndarray:
    """Positions of the `kept` largest scores, largest first, of equal ones the first; without sorting the others."""
    smallest = np.partition(scores, -kept)[-kept]
    candidates = np.flatnonzero(scores >= smallest)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:kept]]
