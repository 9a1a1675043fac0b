"""Filters by length and for duplicates; every removed document is counted by reason."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.parallel_map import run_in_order
from litebert.corpus.dedup.minhash import Signature, signature
from litebert.corpus.dedup.near_duplicates import NearDuplicateIndex
from litebert.corpus.format.shards import Split
from litebert.corpus.readers.documents import Document

BATCH_CHARS = 2**20
"""Size of the text whose signatures are computed in one task."""

DocumentWithSplit = tuple[Document, Split | None]
"""A document with its split, or with None if the hash of its content decides."""


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
    pending: deque[list[DocumentWithSplit]] = deque()
    for signatures in run_in_order(_signatures, _texts(documents, pending), workers=workers):
        for (document, split), numbers in zip(pending.popleft(), signatures, strict=True):
            if numbers is None or index.add_if_new(numbers):
                yield document, split
            else:
                counts["near duplicate documents"] += 1


def _texts(documents: Iterable[DocumentWithSplit], pending: deque[list[DocumentWithSplit]]) -> Iterator[list[str]]:
    """The texts of batches of documents; the documents of each batch are appended to `pending`."""
    batch: list[DocumentWithSplit] = []
    texts: list[str] = []
    size = 0
    for document, split in documents:
        batch.append((document, split))
        texts.append(document.text())
        size += len(texts[-1])
        if size >= BATCH_CHARS:
            pending.append(batch)
            yield texts
            batch, texts, size = [], [], 0
    pending.append(batch)
    yield texts


def _signatures(texts: list[str]) -> list[Signature | None]:
    return [signature(text) for text in texts]
