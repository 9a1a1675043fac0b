"""The text of one shard to its arrays on disk, in whichever process. Before: plan. After: shards are read."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from litebert.corpus.build.shard_plan import ShardTask
from litebert.corpus.build.sentence_splitter import cut_long, split_sentences
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Shard, ShardEntry, token_dtype
from litebert.files import atomic_directory, write_json
from litebert.tokenization.tokenizer import Tokenizer

RECORD = "shard.json"
CHUNK_CHARACTERS = 2**19
"""Text tokenized at a time: enough to be fast, little enough to keep the lists of ids small."""


@dataclass(frozen=True)
class ShardRecord:
    """What a finished shard says of itself; its presence with the right `source` means that it need not be redone."""

    entry: ShardEntry
    source: str
    content: str
    """Hex digest of the arrays."""
    counts: dict[str, int]
    text_bytes: int
    reused: bool = False


def write_shard(task: ShardTask, *, tokenizer: Tokenizer, settings: CorpusSettings) -> ShardRecord:
    """Tokenize and write a shard, all or nothing, unless an earlier build has done it."""
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
        write_json(temporary / RECORD, asdict(record))
    return record


def finished_shard(directory: Path, source: str) -> ShardRecord | None:
    """What the shard in a directory says of itself, if it was made from that source."""
    try:
        values = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    record = ShardRecord(entry=ShardEntry(**values.pop("entry")), **values)
    return record if record.source == source else None


def _encode(
    documents: Sequence[Sequence[str]], tokenizer: Tokenizer, settings: CorpusSettings, counts: Counter[str]
) -> Shard:
    """Token ids of all sentences; sentences and documents that have none are left out and counted."""
    per_document: list[int] = []
    tokens, lengths = _tokenize(_chunks(documents, settings, counts, per_document), tokenizer)
    owner = np.repeat(np.arange(len(per_document)), per_document)
    sizes = np.bincount(owner[lengths > 0], minlength=len(per_document))
    enough = sizes >= settings.min_sentences
    kept = (lengths > 0) & enough[owner]
    tokens = tokens if enough[sizes > 0].all() else tokens[np.repeat(enough[owner], lengths)]
    counts["sentences without tokens"] += int(np.sum(lengths == 0))
    counts["documents without tokens"] += int(np.sum(sizes == 0))
    counts["documents of too few sentences"] += int(np.sum((sizes > 0) & ~enough))
    counts["unknown tokens"] += int(np.sum(tokens == tokenizer.unk_id))
    return Shard(tokens, _edges(lengths[kept]), _edges(sizes[enough & (sizes > 0)]))


def _chunks(
    documents: Sequence[Sequence[str]], settings: CorpusSettings, counts: Counter[str], per_document: list[int]
) -> Iterator[list[str]]:
    """The sentences of all documents, some at a time; `per_document` takes the number of each document's."""
    chunk: list[str] = []
    size = 0
    for document in documents:
        per_document.append(0)
        for line in document:
            sentences = _sentences(line, settings, counts)
            per_document[-1] += len(sentences)
            chunk += sentences
            size += len(line)
            if size >= CHUNK_CHARACTERS:
                yield chunk
                chunk, size = [], 0
    yield chunk


def _sentences(line: str, settings: CorpusSettings, counts: Counter[str]) -> list[str]:
    sentences = split_sentences(line) if settings.sentences == "split" else [line]
    if len(line) <= settings.max_sentence_chars:
        return sentences
    counts["sentences cut"] += sum(len(sentence) > settings.max_sentence_chars for sentence in sentences)
    return [part for sentence in sentences for part in cut_long(sentence, longest=settings.max_sentence_chars)]


def _tokenize(chunks: Iterable[list[str]], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """All ids in a row, and the number of ids of each sentence."""
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
