"""Filters by length and for duplicates; every removed document is counted by reason."""

from collections import Counter
from collections.abc import Iterable, Iterator

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.parallel_map import run_in_order
from litebert.corpus.dedup.near_duplicates import NearDuplicateIndex, Signature, signature
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
