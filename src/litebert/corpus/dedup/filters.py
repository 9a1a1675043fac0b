"""Which documents stay out of a corpus, each counted by reason. Before: documents. After: plan."""

import hashlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.parallel_map import run_in_order
from litebert.corpus.dedup.minhash import Signature, signature
from litebert.corpus.dedup.near_duplicates import NearDuplicates
from litebert.corpus.format.shards import Split
from litebert.corpus.readers.documents import Document

BATCH_CHARACTERS = 2**20
"""Text whose signatures are made in one go."""

DocumentWithSplit = tuple[Document, Split | None]
"""A document with the split it must go to, or None if its content decides."""


def filtered(
    documents: Iterable[DocumentWithSplit], settings: CorpusSettings, counts: Counter[str], *, workers: int = 1
) -> Iterator[DocumentWithSplit]:
    """The documents that the settings let through, in order; `workers` processes make signatures."""
    kept = _of_right_length(documents, settings, counts)
    if settings.dedup_exact:
        kept = _different(kept, counts)
    if settings.dedup_minhash_threshold is not None:
        kept = _dissimilar(kept, settings.dedup_minhash_threshold, counts, workers=workers)
    return kept


def _of_right_length(
    documents: Iterable[DocumentWithSplit], settings: CorpusSettings, counts: Counter[str]
) -> Iterator[DocumentWithSplit]:
    """The parts of a document that was cut share its fate: its first part alone is longer than any limit."""
    longest = settings.max_document_chars
    for document, split in documents:
        characters = sum(map(len, document.sentences))
        if longest is not None and (document.continues or characters > longest):
            counts["documents too long"] += 1
        elif characters < settings.min_document_chars and not document.continues:
            counts["documents too short"] += 1
        else:
            yield document, split


def _different(documents: Iterable[DocumentWithSplit], counts: Counter[str]) -> Iterator[DocumentWithSplit]:
    seen: set[bytes] = set()
    for document, split in documents:
        digest = hashlib.blake2b(text_of(document).encode("utf-8", "replace"), digest_size=16).digest()
        if digest in seen:
            counts["duplicate documents"] += 1
            continue
        seen.add(digest)
        yield document, split


def _dissimilar(
    documents: Iterable[DocumentWithSplit], threshold: float, counts: Counter[str], *, workers: int
) -> Iterator[DocumentWithSplit]:
    """Signatures are made in any process, but compared here in order, so that the first of several copies stays."""
    index = NearDuplicates(threshold)
    pending: deque[list[DocumentWithSplit]] = deque()
    for signatures in run_in_order(_signatures, _texts(documents, pending), workers=workers):
        for (document, split), numbers in zip(pending.popleft(), signatures, strict=True):
            if numbers is None or index.is_new(numbers):
                yield document, split
            else:
                counts["near duplicate documents"] += 1


def _texts(documents: Iterable[DocumentWithSplit], pending: deque[list[DocumentWithSplit]]) -> Iterator[list[str]]:
    """The text of some documents at a time; they themselves go to the end of `pending`."""
    batch: list[DocumentWithSplit] = []
    texts: list[str] = []
    size = 0
    for document, split in documents:
        batch.append((document, split))
        texts.append(text_of(document))
        size += len(texts[-1])
        if size >= BATCH_CHARACTERS:
            pending.append(batch)
            yield texts
            batch, texts, size = [], [], 0
    pending.append(batch)
    yield texts


def _signatures(texts: list[str]) -> list[Signature | None]:
    return [signature(text) for text in texts]


def text_of(document: Document) -> str:
    """Its lines as one text."""
    return "\n".join(document.sentences)
