"""Assign documents to shards, tokenize the text of each shard and write its arrays.

The plan depends on the documents and the settings only, so a second build has the same tasks with the same digests.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.dedup.near_duplicates import DocumentWithSplit
from litebert.corpus.format.shards import SHARD_RECORD, SPLITS, Shard, ShardEntry, token_dtype
from litebert.corpus.readers.sentence_splitter import split_long_sentence, split_sentences
from litebert.errors import DataError
from litebert.files import write_json
from litebert.manifest import atomic_directory
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

FEW_DOCUMENTS = 10
"""Fewer documents are probably one text without blank lines, of which a document for validation could be most."""
CHUNK_CHARS = 2**19
"""Text tokenized at a time: large enough to be fast, small enough that the lists of ids need little memory."""


@dataclass(frozen=True)
class ShardTask:
    """The text of one shard and the directory of its arrays."""

    building: Path
    """The directory that is renamed to the corpus at the end."""
    path: str
    """Shard directory in it, such as `train/00003`."""
    source: str
    """Hex digest of the text and of everything else that determines the shard."""
    documents: tuple[tuple[str, ...], ...]
    text_bytes: int


@dataclass
class _OpenShard:
    """The shard of a split that is being filled."""

    documents: list[tuple[str, ...]] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    text_bytes: int = 0

    def add(self, document: tuple[str, ...], digest: bytes) -> None:
        self.documents.append(document)
        self.digests.append(digest)
        self.text_bytes += len("\n".join(document).encode("utf-8", "replace"))

    def to_task(self, building: Path, path: str, key: str) -> ShardTask:
        source = hashlib.blake2b(key.encode() + b"".join(self.digests), digest_size=16).hexdigest()
        return ShardTask(building, path, source, tuple(self.documents), self.text_bytes)


def plan_shards(
    documents: Iterable[DocumentWithSplit], *, building: Path, key: str, settings: CorpusSettings
) -> Iterator[ShardTask]:
    """Group documents into shards of about `settings.shard_bytes`; a split of None is chosen by the content.

    `key` is part of the digest of every task: everything else that the bytes of a shard depend on. If no document is
    in the validation split and the text fits into one shard, the one with the lowest hash of those with enough
    sentences is. DataError if a training document is equal to a document of the validation files.
    """
    shards = {split: _OpenShard() for split in SPLITS}
    finished = dict.fromkeys(SPLITS, 0)
    validation_names: dict[bytes, str] = {}
    for document, given_split in documents:
        digest = document.digest()
        number = int.from_bytes((document.first_part_digest or digest)[:8], "big")  # the same in every build
        split = given_split or ("validation" if number < settings.validation_fraction * 2**64 else "train")
        if given_split == "validation":
            validation_names[digest] = document.name
        elif split == "train" and digest in validation_names:
            raise DataError(
                f"{document.name}: the same document is in the validation files ({validation_names[digest]}); "
                "remove it from one of them, or set dedup_exact to drop it from the training split"
            )
        shards[split].add(document.sentences, digest)
        if shards[split].text_bytes >= settings.shard_bytes:
            yield shards[split].to_task(building, f"{split}/{finished[split]:05d}", key)
            shards[split] = _OpenShard()
            finished[split] += 1
    if settings.validation_fraction and not any(finished.values()) and not shards["validation"].documents:
        shards["train"], shards["validation"] = _split_off_lowest(shards["train"], settings)
    for split, shard in shards.items():
        if shard.documents:
            yield shard.to_task(building, f"{split}/{finished[split]:05d}", key)


def _split_off_lowest(shard: _OpenShard, settings: CorpusSettings) -> tuple[_OpenShard, _OpenShard]:
    """The shard without the document of the lowest digest, with its duplicates; and these, unless there are few.

    Documents with too few sentences do not count, because they are left out when the shards are written.
    """
    documents = zip(shard.documents, shard.digests, strict=True)
    usable = {digest for document, digest in documents if _has_enough_sentences(document, settings)}
    if len(usable) < FEW_DOCUMENTS:
        return shard, _OpenShard()
    logger.info("no document has a hash below validation_fraction: the one with the lowest hash is used for validation")
    lowest = min(usable)
    rest, taken = _OpenShard(), _OpenShard()
    for document, digest in zip(shard.documents, shard.digests, strict=True):
        (taken if digest == lowest else rest).add(document, digest)
    return rest, taken


def _has_enough_sentences(document: Sequence[str], settings: CorpusSettings) -> bool:
    """Before the text is tokenized: a sentence with a letter or a digit has tokens."""
    sentences = (sentence for line in document for sentence in _sentences(line, settings, Counter()))
    with_text = (sentence for sentence in sentences if any(map(str.isalnum, sentence)))
    return sum(1 for _ in islice(with_text, settings.min_sentences)) == settings.min_sentences


@dataclass(frozen=True)
class ShardRecord:
    """Description of a finished shard, stored in it; a build reuses the shard if `source` is that of its task."""

    entry: ShardEntry
    source: str
    content: str
    """Hex digest of the arrays."""
    counts: dict[str, int]
    text_bytes: int
    reused: bool = False


def write_shard(task: ShardTask, *, tokenizer: Tokenizer, settings: CorpusSettings) -> ShardRecord:
    """Tokenize and write a shard atomically, unless an earlier build finished it."""
    directory = task.building / task.path
    finished = finished_shard(directory, task.source)
    if finished:
        return replace(finished, reused=True)
    counts: Counter[str] = Counter()
    shard = _encode(task.documents, tokenizer, settings, counts)
    entry = ShardEntry(task.path, len(shard.documents) - 1, len(shard.sentences) - 1, len(shard.tokens))
    record = ShardRecord(entry, task.source, _digest(shard), dict(counts), task.text_bytes)
    with atomic_directory(directory) as temporary:
        shard.save(temporary)
        write_json(temporary / SHARD_RECORD, asdict(record))
    return record


def finished_shard(directory: Path, source: str) -> ShardRecord | None:
    """The record of the shard in a directory, if there is one that was made from that source."""
    try:
        values = json.loads((directory / SHARD_RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    record = ShardRecord(entry=ShardEntry(**values.pop("entry")), **values)
    return record if record.source == source else None


def _encode(
    documents: Sequence[Sequence[str]], tokenizer: Tokenizer, settings: CorpusSettings, counts: Counter[str]
) -> Shard:
    """Token ids of all sentences; empty sentences and documents with too few sentences are left out and counted."""
    per_document: list[int] = []
    tokens, lengths = _tokenize(_chunks(documents, settings, counts, per_document), tokenizer)
    owner = np.repeat(np.arange(len(per_document)), per_document)
    sizes = np.bincount(owner[lengths > 0], minlength=len(per_document))
    long_enough = sizes >= settings.min_sentences
    used = (lengths > 0) & long_enough[owner]
    tokens = tokens if long_enough[sizes > 0].all() else tokens[np.repeat(long_enough[owner], lengths)]
    counts["sentences without tokens"] += int(np.sum(lengths == 0))
    counts["documents without tokens"] += int(np.sum(sizes == 0))
    counts["documents with too few sentences"] += int(np.sum((sizes > 0) & ~long_enough))
    counts["unknown tokens"] += int(np.sum(tokens == tokenizer.unk_id))
    return Shard(tokens, _edges(lengths[used]), _edges(sizes[long_enough & (sizes > 0)]))


def _chunks(
    documents: Sequence[Sequence[str]], settings: CorpusSettings, counts: Counter[str], per_document: list[int]
) -> Iterator[list[str]]:
    """The sentences of all documents in chunks; the number of sentences of each document is added to `per_document`."""
    chunk: list[str] = []
    size = 0
    for document in documents:
        per_document.append(0)
        for line in document:
            sentences = _sentences(line, settings, counts)
            per_document[-1] += len(sentences)
            chunk += sentences
            size += len(line)
            if size >= CHUNK_CHARS:
                yield chunk
                chunk, size = [], 0
    yield chunk


def _sentences(line: str, settings: CorpusSettings, counts: Counter[str]) -> list[str]:
    sentences = split_sentences(line) if settings.sentences == "split" else [line]
    if len(line) <= settings.max_sentence_chars:
        return sentences
    counts["sentences cut"] += sum(len(sentence) > settings.max_sentence_chars for sentence in sentences)
    return [
        part for sentence in sentences for part in split_long_sentence(sentence, max_chars=settings.max_sentence_chars)
    ]


def _tokenize(chunks: Iterable[list[str]], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all sentences, concatenated, and the number of ids of each sentence."""
    dtype = token_dtype(tokenizer.vocab_size)
    tokens, lengths = [np.zeros(0, dtype)], [np.zeros(0, np.int64)]
    for chunk in chunks:
        encoded = tokenizer.encode_batch(chunk)
        tokens.append(np.fromiter(chain.from_iterable(encoded), dtype))
        lengths.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    return np.concatenate(tokens), np.concatenate(lengths)


def _edges(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)


def _digest(shard: Shard) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in (shard.tokens, shard.sentences, shard.documents):
        digest.update(array.tobytes())
    return digest.hexdigest()
