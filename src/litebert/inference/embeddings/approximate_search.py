"""The nearest vectors by dot product, approximately: a graph of usearch (HNSW), for millions of vectors."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from litebert.errors import DataError, import_extra
from litebert.files import atomic_file
from litebert.inference.embeddings.exact_search import ROWS_PER_BLOCK, Hit, validate_dimensions

SAME: Final = 1e-4
"""Distance up to which a vector counts as that of the index, relative to its length. In fp32 devices and numbers of
threads differ by at most 1e-5; one other word in 456 tokens moved the vector of `[CLS]` by 3e-4."""


class ApproximateIndex:
    """An index over vectors; it holds a copy of them."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: np.ndarray) -> "ApproximateIndex":
        """Index float32 [N, D], which may be mapped into memory."""
        index = _index_class()(ndim=vectors.shape[1], metric="ip", dtype="f32")
        for start in range(0, len(vectors), ROWS_PER_BLOCK):
            block = np.array(vectors[start : start + ROWS_PER_BLOCK])
            index.add(np.arange(start, start + len(block)), block)
        return cls(index)

    @classmethod
    def load(cls, path: Path) -> "ApproximateIndex":
        """An index that was saved, mapped into memory; DataError if the file is damaged."""
        index_class = _index_class()
        try:
            index = index_class.restore(str(path), view=True)
        except Exception as error:  # usearch raises RuntimeError and others
            raise DataError(f"{path}: not an index of usearch ({error}); delete it to build it again") from None
        if index is None:
            raise DataError(f"{path}: not an index of usearch; delete it to build it again")
        return cls(index)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of vectors and dimensions."""
        return len(self._index), self._index.ndim

    def holds(self, vectors: np.ndarray) -> bool:
        """Whether its vectors are these, float32 [N, D], in this order and up to rounding; reads them all."""
        if vectors.shape != self.shape:
            return False
        starts = range(0, len(vectors), ROWS_PER_BLOCK)
        return all(self._holds_block(start, np.asarray(vectors[start : start + ROWS_PER_BLOCK])) for start in starts)

    def _holds_block(self, start: int, block: np.ndarray) -> bool:
        keys = np.arange(start, start + len(block))
        if not np.all(self._index.contains(keys)):
            return False
        distances = np.linalg.norm(self._index.get(keys) - block, axis=1)
        return bool((distances <= SAME * np.linalg.norm(block, axis=1)).all())

    def save(self, path: Path) -> None:
        """Write the index to a file, which is complete or absent."""
        with atomic_file(path, one_writer=True) as temporary:
            self._index.save(str(temporary))

    def search(self, queries: np.ndarray, *, top_k: int) -> list[list[Hit]]:
        """For each query, float32 [Q, D], about the `top_k` vectors with the largest dot products, best first."""
        validate_dimensions(queries, np.empty((0, self._index.ndim)))
        found = [self._index.search(query, min(top_k, len(self._index))) for query in queries]
        return [
            [Hit(int(key), 1 - float(distance)) for key, distance in zip(each.keys, each.distances, strict=True)]
            for each in found
        ]


def _index_class() -> Any:
    return import_extra("usearch.index", extra="search", needed_for="approximate search").Index
