"""Filters by length and for duplicates; every removed document is counted by reason.

Near duplicates are found by MinHash signatures of texts and an index that compares them by locality-sensitive hashing
(LSH). The share of equal numbers in two signatures estimates the Jaccard index of the shingle sets of the texts. A
shingle is five consecutive units; a unit is a word, or one character of a script that is written without spaces, so the
rule works for every language. Two documents are candidates if all numbers of some band of their signatures are equal;
the share of equal numbers of the whole signatures decides. The index has sorted arrays instead of Python objects: about
300 bytes per document at a threshold of 0.8. Source: Broder, On the resemblance and containment of documents, 1997.
"""

import hashlib
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Split
from litebert.corpus.ngram_hashes import ngram_hashes
from litebert.corpus.readers.documents import Document
from litebert.parallel_map import run_in_order
from litebert.tokenization.letters import UNSPACED, combining_marks

HASHES = 128
"""Numbers of a signature: the standard deviation of the estimate is 0.035 at a Jaccard index of 0.8."""
SHINGLE_UNITS = 5
BLOCK_CHARS = 2**18
"""Text processed at a time, to bound the memory; the four shingles that cross two blocks are left out."""
BLOCK_SHINGLES = 2**12
"""Shingles hashed at a time, so that the numbers fit into the cache."""
FACTORS = np.frombuffer(hashlib.shake_128(b"litebert near duplicates").digest(8 * HASHES), dtype="<u8") | np.uint64(1)
"""One odd multiplier for each hash function, the same on every machine."""

Signature = np.ndarray
"""uint32 [HASHES]."""

BLOCK = 2**14
"""Documents that are collected in dictionaries before they are merged into the sorted arrays."""
MAX_CANDIDATES = 256
"""Maximum number of candidates of a band, which bounds the time for many pages of one template."""
MIN_RECALL = 0.99
"""Minimum probability that two documents at the threshold are candidates."""
BYTE_COLLISION = 1 / 256
"""Probability that two different numbers have the same last byte, which is all that the index stores of them."""
BAND_MIX = np.uint64(0xD6E8FEB86659FD93)
BAND_FACTORS = np.frombuffer(hashlib.shake_128(b"litebert bands").digest(8 * HASHES), dtype="<u8") | np.uint64(1)
"""One odd multiplier for each row of a band."""

BATCH_CHARS = 2**20
"""Size of the text whose signatures are computed in one task."""
DocumentWithSplit = tuple[Document, Split | None]
"""A document with its split, or with None if the hash of its content decides."""


def signature(text: str) -> Signature | None:
    """The signature of a text, independent of case, spaces, punctuation and Unicode form; None if it has no word."""
    blocks = (text[start : start + BLOCK_CHARS] for start in range(0, len(text), BLOCK_CHARS))
    found = [_min_hashes(units) for block in blocks if (units := _units(block))]
    return np.min(found, axis=0) if found else None


def _units(text: str) -> list[str]:
    """Texts of macOS have letters and marks apart (NFD), other texts have them together."""
    return _unit().findall(unicodedata.normalize("NFKC", text).lower())


@cache
def _unit() -> re.Pattern[str]:
    """A word, or one character of a script without spaces, with the combining marks of its letters."""
    marks = combining_marks()
    return re.compile(rf"(?:[^\W_{UNSPACED}]++[{marks}]*+)+|(?=\w)[{UNSPACED}][{marks}]*+")


def _min_hashes(units: list[str]) -> Signature:
    """The minimum of each hash function over every five consecutive units, or over all units of a shorter text."""
    values = np.array([zlib.crc32(unit.encode()) for unit in units], dtype=np.uint64)
    shingles = ngram_hashes(values, min(SHINGLE_UNITS, len(units)))
    blocks = (shingles[start : start + BLOCK_SHINGLES] for start in range(0, len(shingles), BLOCK_SHINGLES))
    return np.min([(block * FACTORS[:, None]).min(axis=1) for block in blocks], axis=0) >> np.uint64(32)


class NearDuplicateIndex:
    """The signatures of all documents that were added."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._rows = lsh_band_size(threshold)
        self._bands = HASHES // self._rows
        self._sorted_keys = [np.zeros(0, np.uint32)] * self._bands
        self._owners = [np.zeros(0, np.uint32)] * self._bands
        """Index of the document of each sorted key."""
        self._recent: list[dict[int, list[int]]] = [{} for _ in range(self._bands)]
        """Band → key → indices of the documents that are not in the sorted arrays yet."""
        self._recent_keys: list[np.ndarray] = []
        self._bytes: list[np.ndarray] = []
        """Last byte of each number of the signatures, in blocks."""
        self.documents = 0

    def add_if_new(self, signature: Signature) -> bool:
        """Add a document unless an earlier one reaches the similarity threshold; return whether it was added."""
        last_bytes, keys = signature.astype(np.uint8), self._band_keys(signature)
        candidates = self._candidates(keys)
        if candidates and self._max_similarity(last_bytes, candidates) >= self._threshold:
            return False
        self._add(keys, last_bytes)
        return True

    def _band_keys(self, signature: Signature) -> np.ndarray:
        bands = signature[: self._bands * self._rows].reshape(self._bands, self._rows)
        mixed = (bands * BAND_FACTORS[: self._rows]).sum(axis=1, dtype=np.uint64) * BAND_MIX
        return (mixed >> np.uint64(32)).astype(np.uint32)

    def _candidates(self, keys: np.ndarray) -> list[int]:
        found: set[int] = set()
        for band, key in enumerate(keys):
            first = int(self._sorted_keys[band].searchsorted(key))
            end = int(self._sorted_keys[band].searchsorted(key, side="right"))
            found.update(self._owners[band][first : min(end, first + MAX_CANDIDATES)].tolist())
            found.update(self._recent[band].get(int(key), ())[:MAX_CANDIDATES])
        return sorted(found)

    def _max_similarity(self, last_bytes: np.ndarray, candidates: list[int]) -> float:
        rows = np.stack([self._bytes[number // BLOCK][number % BLOCK] for number in candidates])
        equal = float((rows == last_bytes).mean(axis=1).max())
        return (equal - BYTE_COLLISION) / (1 - BYTE_COLLISION)

    def _add(self, keys: np.ndarray, last_bytes: np.ndarray) -> None:
        if self.documents % BLOCK == 0:
            self._bytes.append(np.zeros((BLOCK, HASHES), np.uint8))
        self._bytes[-1][self.documents % BLOCK] = last_bytes
        for band, key in enumerate(keys.tolist()):
            self._recent[band].setdefault(key, []).append(self.documents)
        self._recent_keys.append(keys)
        self.documents += 1
        if len(self._recent_keys) == BLOCK:
            self._merge_recent()

    def _merge_recent(self) -> None:
        """Merge the recent documents into the sorted arrays, band by band; the order of documents is stable."""
        first = self.documents - BLOCK
        for band, keys in enumerate(np.stack(self._recent_keys, axis=1)):
            order = keys.argsort(kind="stable")
            positions = self._sorted_keys[band].searchsorted(keys[order], side="right")
            self._sorted_keys[band] = np.insert(self._sorted_keys[band], positions, keys[order])
            self._owners[band] = np.insert(self._owners[band], positions, (first + order).astype(np.uint32))
        self._recent = [{} for _ in range(self._bands)]
        self._recent_keys = []


def lsh_band_size(threshold: float) -> int:
    """The largest band size, which gives the fewest candidates, with a recall of MIN_RECALL at the threshold."""
    return max(rows for rows in range(1, HASHES + 1) if lsh_collision_probability(threshold, rows) >= MIN_RECALL)


def lsh_collision_probability(similarity: float, rows: int) -> float:
    """Probability that the signatures of two documents agree in at least one band of `rows` rows."""
    return 1 - (1 - similarity**rows) ** (HASHES // rows)


def filter_documents(
    documents: Iterable[DocumentWithSplit], settings: CorpusSettings, counts: Counter[str], *, workers: int = 1
) -> Iterator[DocumentWithSplit]:
    """The documents that pass the filters of the settings, in order; signatures are computed by `workers` processes."""
    documents = _filter_length(documents, settings, counts)
    if settings.dedup_exact:
        documents = _filter_exact_duplicates(documents, counts)
    if settings.dedup_minhash_threshold is not None:
        documents = _filter_near_duplicates(documents, settings.dedup_minhash_threshold, counts, workers=workers)
    return documents


def _filter_length(
    documents: Iterable[DocumentWithSplit], settings: CorpusSettings, counts: Counter[str]
) -> Iterator[DocumentWithSplit]:
    """All parts of a cut document pass or fail together, because its first part alone exceeds any maximum."""
    maximum = settings.max_document_chars
    for document, split in documents:
        characters = sum(map(len, document.sentences))
        if maximum is not None and (document.continues or characters > maximum):
            counts["documents too long"] += 1
        elif characters < settings.min_document_chars and not document.continues:
            counts["documents too short"] += 1
        else:
            yield document, split


def _filter_exact_duplicates(
    documents: Iterable[DocumentWithSplit], counts: Counter[str]
) -> Iterator[DocumentWithSplit]:
    seen: set[bytes] = set()
    for document, split in documents:
        if (digest := document.digest()) in seen:
            counts["duplicate documents"] += 1
        else:
            seen.add(digest)
            yield document, split


def _filter_near_duplicates(
    documents: Iterable[DocumentWithSplit], threshold: float, counts: Counter[str], *, workers: int
) -> Iterator[DocumentWithSplit]:
    """Signatures come from several processes but are compared here, in order, so that the first copy stays."""
    index = NearDuplicateIndex(threshold)
    for batch in run_in_order(_with_signatures, _batches(documents), workers=workers):
        for document, numbers in batch:
            if numbers is None or index.add_if_new(numbers):
                yield document
            else:
                counts["near duplicate documents"] += 1


def _batches(documents: Iterable[DocumentWithSplit]) -> Iterator[list[DocumentWithSplit]]:
    batch: list[DocumentWithSplit] = []
    size = 0
    for document, split in documents:
        batch.append((document, split))
        size += sum(map(len, document.sentences))
        if size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    yield batch


def _with_signatures(batch: list[DocumentWithSplit]) -> list[tuple[DocumentWithSplit, Signature | None]]:
    return [((document, split), signature(document.text())) for document, split in batch]
