"""Text to a corpus directory. Before: text files and a tokenizer. After: verify, and stream, which draws examples.

One process reads and plans; any number of processes tokenize and write shards. A shard is a function of its own text,
so the bytes do not depend on the number of processes, and a build that was killed keeps the shards it had finished.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast

from litebert.corpus.documents import Document, find_files, read_documents
from litebert.corpus.plan import plan_shards
from litebert.corpus.pool import run_in_order
from litebert.corpus.publish import entries_of, publish
from litebert.corpus.settings import CorpusSettings
from litebert.corpus.shard_writer import ShardRecord, write_shard
from litebert.corpus.shards import FORMAT_VERSION, ShardEntry, Split
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer

log = logging.getLogger(__name__)

Source = str | Path | Iterable[str | Path] | Iterable[Document]
"""Files, globs and directories, read in the order of their paths; or documents, kept in their order."""


@dataclass(frozen=True)
class SplitReport:
    """Size of one split."""

    shards: int
    documents: int
    sentences: int
    tokens: int


@dataclass(frozen=True)
class CorpusReport:
    """What a build did."""

    directory: Path
    splits: dict[Split, SplitReport]
    counts: dict[str, int]
    """What was read, repaired and left out, by name; docs/corpus.md explains the names."""
    text_bytes: int
    """UTF-8 bytes of the text in the corpus."""
    reused_shards: int
    """Shards that an interrupted build had finished."""
    seconds: float


def build_corpus(
    files: Source,
    tokenizer: Tokenizer,
    settings: CorpusSettings,
    out: Path,
    *,
    held_out: Source = (),
    workers: int = 1,
) -> CorpusReport:
    """Write the corpus directory `out`; after an interruption the same call goes on with the unfinished shards.

    All documents of `held_out` are kept for evaluation, besides the fraction of `files` that the settings take.

    Raises:
        ConfigError: `out` exists, or `workers` is less than 1.
        DataError: Text that cannot be read as what it should be, or no text at all.
    """
    if workers < 1:
        raise ConfigError(f"workers: must be at least 1, found {workers}")
    if out.exists():
        raise ConfigError(f"{out}: exists already; delete it or choose another directory")
    started = time.monotonic()
    building = out.with_name(f".{out.name}.building")
    counts: Counter[str] = Counter()
    sources: list[str] = []
    read = partial(_documents, settings=settings, counts=counts, sources=sources)
    documents = chain(_sided(read(held_out), "held_out"), _sided(read(files), None))
    key = _key(tokenizer, settings)
    tasks = plan_shards(documents, building=building, key=key, settings=settings, counts=counts)
    write = partial(write_shard, tokenizer=tokenizer, settings=settings)
    records = [_logged(record) for record in run_in_order(write, tasks, workers=workers)]
    total = _total(records, counts)
    publish(building, out, tokenizer=tokenizer, settings=settings, records=records, sources=sources, counts=total)
    return _report(out, records, total, seconds=time.monotonic() - started)


def _documents(
    source: Source, *, settings: CorpusSettings, counts: Counter[str], sources: list[str]
) -> Iterator[Document]:
    """The documents of a source; its files are added to `sources`."""
    items = iter([source] if isinstance(source, str | Path) else source)
    first = next(items, None)
    if first is None:
        return
    everything = chain([first], items)
    if isinstance(first, Document):
        yield from cast(Iterator[Document], everything)
        return
    files = find_files(cast(Iterator[str | Path], everything), counts)
    sources.extend(str(file) for file in files)
    yield from read_documents(files, settings, counts)


def _sided(documents: Iterable[Document], split: Split | None) -> Iterator[tuple[Document, Split | None]]:
    """Each document with the split it must go to, or None if its content decides."""
    return ((document, split) for document in documents)


def _key(tokenizer: Tokenizer, settings: CorpusSettings) -> str:
    return json.dumps([FORMAT_VERSION, tokenizer.fingerprint, settings.to_dict()])


def _logged(record: ShardRecord) -> ShardRecord:
    state = "kept from before" if record.reused else "written"
    log.info("%s: %d documents, %d tokens, %s", record.entry.path, record.entry.documents, record.entry.tokens, state)
    return record


def _total(records: Sequence[ShardRecord], counts: Counter[str]) -> dict[str, int]:
    """Counts of reading and of all shards; those that stayed zero are left out."""
    total = Counter(counts)
    for record in records:
        total.update(record.counts)
    return {name: total[name] for name in sorted(total) if total[name]}


def _report(out: Path, records: Sequence[ShardRecord], counts: dict[str, int], *, seconds: float) -> CorpusReport:
    return CorpusReport(
        directory=out,
        splits={split: _size(entries) for split, entries in entries_of(records).items()},
        counts=counts,
        text_bytes=sum(record.text_bytes for record in records),
        reused_shards=sum(record.reused for record in records),
        seconds=seconds,
    )


def _size(entries: Sequence[ShardEntry]) -> SplitReport:
    return SplitReport(
        shards=len(entries),
        documents=sum(entry.documents for entry in entries),
        sentences=sum(entry.sentences for entry in entries),
        tokens=sum(entry.tokens for entry in entries),
    )
