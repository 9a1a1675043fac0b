"""Hashes of n-grams, by which texts are compared."""

import numpy as np

BASE, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def ngram_hashes(values: np.ndarray, size: int) -> np.ndarray:
    """A hash, uint64 [N - size + 1], of every `size` consecutive values, uint64 [N]: a polynomial, then mixed."""
    count = max(0, len(values) - size + 1)
    hashes = np.zeros(count, np.uint64)
    for offset in range(size):
        hashes = hashes * BASE + values[offset : offset + count] + np.uint64(1)
    hashes ^= hashes >> np.uint64(31)
    hashes *= MIX
    return hashes ^ (hashes >> np.uint64(29))
