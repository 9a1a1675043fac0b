"""Complete verification of a corpus directory, for example after a copy over a network."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from litebert.corpus.format.shards import SPLITS, Corpus, Shard, check_token_ids, read_description
from litebert.corpus.format.split_overlap import find_split_overlap
from litebert.errors import DataError
from litebert.files import MANIFEST, read_manifest, verify_manifest


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
    if not (directory / MANIFEST).is_file():
        raise DataError(f"{directory / MANIFEST}: missing, so checksums cannot be verified; build the corpus again")
    verify_manifest(directory, error=DataError)
    listed = {MANIFEST, *read_manifest(directory)}
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
            "build the corpus again with dedup_minhash_threshold=0.8"
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
