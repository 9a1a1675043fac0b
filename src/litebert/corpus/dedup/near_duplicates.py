"""Which documents are near copies of an earlier one. Before: minhash. After: filters.

Signatures that agree in all rows of some band are candidates (locality-sensitive hashing); the share of equal numbers
decides. The index holds sorted arrays instead of Python objects: about 300 bytes a document at a threshold of 0.8.
"""

import hashlib

import numpy as np

from litebert.corpus.dedup.minhash import HASHES, Signature

BLOCK = 2**14
"""Documents that are added one by one before they are sorted into the index."""
MOST_CANDIDATES = 256
"""Earlier documents of a band that one is compared with, so that a million pages of one template take no year."""
FOUND = 0.99
"""Least probability that two documents at the threshold become candidates."""
CHANCE = 1 / 256
"""Probability that two different numbers have the same last byte, which is what is kept of them."""
MIX = np.uint64(0xD6E8FEB86659FD93)
FACTORS = np.frombuffer(hashlib.shake_128(b"litebert bands").digest(8 * HASHES), dtype="<u8") | np.uint64(1)
"""One odd number for each row of a band."""


class NearDuplicates:
    """The documents kept so far."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._rows = lsh_band_size(threshold)
        self._bands = HASHES // self._rows
        self._sorted_keys = [np.zeros(0, np.uint32)] * self._bands
        self._owners = [np.zeros(0, np.uint32)] * self._bands
        """Number of the document behind each sorted key."""
        self._recent: list[dict[int, list[int]]] = [{} for _ in range(self._bands)]
        """Band → key → numbers of the documents that are not sorted in yet."""
        self._recent_keys: list[np.ndarray] = []
        self._bytes: list[np.ndarray] = []
        """Last byte of each number of the signatures, in blocks."""
        self.documents = 0

    def is_new(self, signature: Signature) -> bool:
        """Whether no document kept so far is as similar as the threshold; if so, this one is kept."""
        last_bytes, keys = signature.astype(np.uint8), self._band_keys(signature)
        candidates = self._candidates(keys)
        if candidates and self._greatest_share(last_bytes, candidates) >= self._threshold:
            return False
        self._add(keys, last_bytes)
        return True

    def _band_keys(self, signature: Signature) -> np.ndarray:
        bands = signature[: self._bands * self._rows].reshape(self._bands, self._rows)
        return ((bands * FACTORS[: self._rows]).sum(axis=1, dtype=np.uint64) * MIX >> np.uint64(32)).astype(np.uint32)

    def _candidates(self, keys: np.ndarray) -> list[int]:
        found: set[int] = set()
        for band, key in enumerate(keys):
            first = int(self._sorted_keys[band].searchsorted(key))
            end = int(self._sorted_keys[band].searchsorted(key, side="right"))
            found.update(self._owners[band][first : min(end, first + MOST_CANDIDATES)].tolist())
            found.update(self._recent[band].get(int(key), ())[:MOST_CANDIDATES])
        return sorted(found)

    def _greatest_share(self, last_bytes: np.ndarray, candidates: list[int]) -> float:
        rows = np.stack([self._bytes[number // BLOCK][number % BLOCK] for number in candidates])
        equal = float((rows == last_bytes).mean(axis=1).max())
        return (equal - CHANCE) / (1 - CHANCE)

    def _add(self, keys: np.ndarray, last_bytes: np.ndarray) -> None:
        if self.documents % BLOCK == 0:
            self._bytes.append(np.zeros((BLOCK, HASHES), np.uint8))
        self._bytes[-1][self.documents % BLOCK] = last_bytes
        for band, key in enumerate(keys.tolist()):
            self._recent[band].setdefault(key, []).append(self.documents)
        self._recent_keys.append(keys)
        self.documents += 1
        if len(self._recent_keys) == BLOCK:
            self._sort_in()

    def _sort_in(self) -> None:
        """Move what is recent into the sorted arrays, one band after the other; documents keep their order."""
        first = self.documents - BLOCK
        for band, keys in enumerate(np.stack(self._recent_keys, axis=1)):
            order = keys.argsort(kind="stable")
            places = self._sorted_keys[band].searchsorted(keys[order], side="right")
            self._sorted_keys[band] = np.insert(self._sorted_keys[band], places, keys[order])
            self._owners[band] = np.insert(self._owners[band], places, (first + order).astype(np.uint32))
        self._recent = [{} for _ in range(self._bands)]
        self._recent_keys = []


def lsh_band_size(threshold: float) -> int:
    """The most rows, and so the fewest candidates, that still find FOUND of the pairs at the threshold."""
    return max(rows for rows in range(1, HASHES + 1) if lsh_collision_probability(threshold, rows) >= FOUND)


def lsh_collision_probability(similarity: float, rows: int) -> float:
    """Probability that the signatures of two documents agree in a whole band of so many rows."""
    return 1 - (1 - similarity**rows) ** (HASHES // rows)
