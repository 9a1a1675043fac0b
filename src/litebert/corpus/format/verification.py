"""Complete verification of a corpus directory, and the overlap of its training and its validation split.

Documents are compared by hashes of their token n-grams, of which every fourth value is used, so one pass over the
training tokens with a sorted array of the validation hashes is enough. Documents with few tokens are not compared,
because they may be equal by chance.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litebert.corpus.format.shards import SPLITS, Corpus, Shard, check_token_ids, read_description
from litebert.corpus.ngram_hashes import ngram_hashes
from litebert.errors import DataError
from litebert.files import README
from litebert.manifest import MANIFEST, read_manifest, verify_manifest

NGRAM_TOKENS = 8
SAMPLING = 4
"""One of so many n-grams is compared, chosen by its hash."""
MIN_SAMPLED_NGRAMS = 8
"""Minimum number of compared n-grams of a document: it has about 40 tokens or more."""
NEAR_DUPLICATE_SHARE = 0.8
"""Share of the n-grams of a training document that must be in the validation split."""
BLOCK_TOKENS = 2**20
"""Tokens hashed at a time, to bound the memory."""


@dataclass(frozen=True)
class Verification:
    """Size of a corpus that passed verification."""

    corpus: Path
    files: int
    documents: int
    sentences: int
    tokens: int
    similar_documents: int
    """Training documents that are similar to the validation split."""

    def to_text(self) -> str:
        """The sizes in one line."""
        similar = f"; {self.similar_documents:,} training documents are similar to the validation split"
        return (
            f"{self.corpus}: verified: {self.files:,} files, {self.documents:,} documents, "
            f"{self.sentences:,} sentences, {self.tokens:,} tokens{similar if self.similar_documents else ''}"
        )


def verify_corpus(directory: Path | str) -> Verification:
    """Read and check every byte of a corpus: checksums, edges, token ids, counts, files that do not belong to it.

    Training and validation split are compared as well. Raises DataError for the first file that fails a check, and for
    documents that are in both splits.
    """
    directory = Path(directory)
    description = read_description(directory)
    verify_manifest(directory, error=DataError)
    listed = {MANIFEST, README, *read_manifest(directory)}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.relative_to(directory).as_posix() not in listed:
            raise DataError(f"{path}: not listed in {MANIFEST}; remove the file or build the corpus again")
    corpora = [Corpus(directory, split, description) for split in SPLITS]
    for corpus in corpora:
        for number, entry in enumerate(corpus.entries):
            _check(corpus.shard(number), directory / entry.path, vocab_size=corpus.vocabulary.size)
    overlap = find_split_overlap(*corpora)
    if overlap.equal:
        raise DataError(
            f"{directory}: {overlap.to_text()} (the first is training document {overlap.equal[0]}); "
            f"{overlap_advice(description)}"
        )
    return Verification(
        corpus=directory,
        files=len(read_manifest(directory)),
        documents=sum(corpus.num_documents for corpus in corpora),
        sentences=sum(corpus.num_sentences for corpus in corpora),
        tokens=sum(corpus.num_tokens for corpus in corpora),
        similar_documents=len(overlap.similar),
    )


def _check(shard: Shard, path: Path, *, vocab_size: int) -> None:
    """Check that edges start at 0, increase, and end at the length of the next array, and that ids are below V."""
    for name, edges, end in (
        ("sentences", shard.sentences, len(shard.tokens)),
        ("documents", shard.documents, len(shard.sentences) - 1),
    ):
        if edges[0] != 0 or edges[-1] != end or np.any(edges[1:] <= edges[:-1]):
            raise DataError(f"{path / name}.npy: edges must increase from 0 to {end}; build the corpus again")
    check_token_ids(shard.tokens, path / "tokens.npy", vocab_size=vocab_size)


@dataclass(frozen=True)
class SplitOverlap:
    """Training documents that are also in the validation split."""

    equal: tuple[int, ...]
    """Indices of training documents with the same tokens as a validation document."""
    similar: tuple[int, ...]
    """Indices of other training documents of which at least `NEAR_DUPLICATE_SHARE` is in the validation split."""

    def to_text(self) -> str:
        """The numbers in one line."""
        return (
            f"{len(self.equal):,} training documents are equal to validation documents, {len(self.similar):,} more are "
            f"in the validation split to at least {NEAR_DUPLICATE_SHARE:.0%}"
        )


def overlap_advice(description: Mapping[str, Any]) -> str:
    """What to do about documents in both splits of a corpus with this description."""
    if description.get("settings", {}).get("dedup_minhash_threshold") is None:
        return "build the corpus again with dedup_minhash_threshold=0.8"
    return (
        "dedup_minhash_threshold kept them, because their words differ more than their tokens or they are parts of "
        "longer documents; remove them from the files and build the corpus again"
    )


def find_split_overlap(train: Corpus, validation: Corpus) -> SplitOverlap:
    """Compare two splits of a corpus; reads every token of both once."""
    hashes, digests = _validation_index(validation)
    equal: list[int] = []
    similar: list[int] = []
    for number, first in enumerate(train.first_documents[:-1].tolist()):
        shard = train.shard(number)
        sampled, found = _count_ngrams(shard, hashes)
        candidates = (sampled >= MIN_SAMPLED_NGRAMS) & (found >= NEAR_DUPLICATE_SHARE * sampled)
        for document in np.flatnonzero(candidates).tolist():
            is_equal = _digest(shard, document) in digests
            (equal if is_equal else similar).append(first + document)
    return SplitOverlap(tuple(equal), tuple(similar))


def _validation_index(corpus: Corpus) -> tuple[np.ndarray, set[bytes]]:
    """Sorted n-gram hashes of all documents of a split, and digests of its documents."""
    hashes = [np.zeros(0, np.uint64)]
    digests: set[bytes] = set()
    for number in range(len(corpus.entries)):
        shard = corpus.shard(number)
        hashes += [values for values, _ in _ngram_hashes(shard)]
        digests.update(_digest(shard, document) for document in range(len(shard.documents) - 1))
    return np.unique(np.concatenate(hashes)), digests


def _count_ngrams(shard: Shard, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each document: the number of its sampled n-grams, and how many of them are in `hashes`; both Int64 [M]."""
    size = len(shard.documents) - 1
    sampled, found = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for values, documents in _ngram_hashes(shard):
        positions = np.searchsorted(hashes, values)
        is_found = hashes[np.minimum(positions, len(hashes) - 1)] == values if len(hashes) else values < 0
        sampled += np.bincount(documents, minlength=size)
        found += np.bincount(documents[is_found], minlength=size)
    return sampled, found


def _ngram_hashes(shard: Shard) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of hashes of the sampled n-grams, uint64 [N], with the document of each, Int64 [N]."""
    edges = shard.sentences[shard.documents].astype(np.int64)
    for start in range(0, len(shard.tokens), BLOCK_TOKENS):
        tokens = shard.tokens[start : start + BLOCK_TOKENS + NGRAM_TOKENS - 1]
        hashes = ngram_hashes(tokens.astype(np.uint64), NGRAM_TOKENS)
        positions = np.flatnonzero(hashes % np.uint64(SAMPLING) == 0)
        documents = np.searchsorted(edges, start + positions, side="right") - 1
        inside = start + positions + NGRAM_TOKENS <= edges[documents + 1]
        yield hashes[positions[inside]], documents[inside]


def _digest(shard: Shard, document: int) -> bytes:
    start, end = shard.sentences[shard.documents[document : document + 2]].tolist()
    return hashlib.blake2b(shard.tokens[start:end].tobytes(), digest_size=16).digest()
