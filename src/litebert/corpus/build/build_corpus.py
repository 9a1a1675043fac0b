"""Text to a corpus directory. Before: text files and a tokenizer. After: verify, and stream, which draws examples.

One process reads and plans; any number of processes tokenize and write shards. A shard is a function of its own text,
so the bytes do not depend on the number of processes, and a build that was killed keeps the shards it had finished.
"""

import json
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast

from litebert.corpus.readers.documents import Document, find_files, read_documents, total_bytes
from litebert.corpus.dedup.filters import DocumentWithSplit, filtered
from litebert.corpus.readers.decompression import ByteCounter
from litebert.corpus.build.shard_plan import ShardTask, plan_shards
from litebert.corpus.build.parallel_map import run_in_order
from litebert.corpus.build.build_progress import Listener, LogProgress, BuildTracker
from litebert.corpus.build.publish import entries_of, publish
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.shard_writer import ShardRecord, write_shard
from litebert.corpus.format.shards import FORMAT_VERSION, ShardEntry, Split
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer

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


@dataclass
class Reading:
    """What is noted while the sources are read."""

    counts: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    """The files that were found."""
    meter: ByteCounter = field(default_factory=ByteCounter)


@dataclass(frozen=True)
class CorpusBuild:
    """All that a build is told, and the two steps around the writing of shards."""

    files: Source
    tokenizer: Tokenizer
    settings: CorpusSettings
    out: Path
    held_out: Source = ()

    @property
    def directory(self) -> Path:
        """Where everything lies until it is whole."""
        return self.out.with_name(f".{self.out.name}.building")

    def check(self, *, workers: int) -> None:
        """Refuse what cannot be before anything is read."""
        if workers < 1:
            raise ConfigError(f"workers: must be at least 1, found {workers}")
        if self.out.exists():
            raise ConfigError(f"{self.out}: exists already; delete it or choose another directory")

    def plan(self, reading: Reading, *, workers: int) -> Iterator[ShardTask]:
        """The text of every shard, in order, as it is read."""
        held_out, files = (self._documents(source, reading) for source in (self.held_out, self.files))
        documents = chain(_sided(held_out, "held_out"), _sided(files, None))
        kept = filtered(documents, self.settings, reading.counts, workers=workers)
        key = json.dumps([FORMAT_VERSION, self.tokenizer.fingerprint, self.settings.to_dict()])
        return plan_shards(kept, building=self.directory, key=key, settings=self.settings)

    def publish(self, records: Sequence[ShardRecord], reading: Reading, *, seconds: float) -> CorpusReport:
        """The finished shards become the corpus."""
        counts = _total(records, reading.counts)
        publish(
            self.directory,
            self.out,
            tokenizer=self.tokenizer,
            settings=self.settings,
            records=records,
            sources=reading.sources,
            counts=counts,
        )
        return _report(self.out, records, counts, seconds=seconds)

    def _documents(self, source: Source, reading: Reading) -> Iterator[Document]:
        """The documents of a source; its files are noted."""
        items = iter([source] if isinstance(source, str | Path) else source)
        first = next(items, None)
        if first is None:
            return iter(())
        everything = chain([first], items)
        if isinstance(first, Document):
            return cast(Iterator[Document], everything)
        files = find_files(cast(Iterator[str | Path], everything), reading.counts)
        reading.sources.extend(str(file) for file in files)
        reading.meter.total += total_bytes(files)
        return read_documents(files, self.settings, reading.counts, reading.meter)


def build_corpus(
    files: Source,
    tokenizer: Tokenizer,
    settings: CorpusSettings,
    out: Path,
    *,
    held_out: Source = (),
    workers: int = 1,
    listener: Listener | None = None,
) -> CorpusReport:
    """Write the corpus directory `out`; after an interruption the same call goes on with the unfinished shards.

    All documents of `held_out` are kept for evaluation, besides the fraction of `files` that the settings take.
    `listener` is told after each shard; without one, progress is logged.

    Raises:
        ConfigError: `out` exists, or `workers` is less than 1.
        DataError: Text that cannot be read as what it should be, or no text at all.
    """
    build = CorpusBuild(files, tokenizer, settings, out, held_out)
    build.check(workers=workers)
    started = time.monotonic()
    listener = listener or LogProgress()
    reading, marks = Reading(), deque[int]()
    tasks = _marked(build.plan(reading, workers=workers), reading.meter, marks)
    track = BuildTracker(reading.meter.total)
    records: list[ShardRecord] = []
    write = partial(write_shard, tokenizer=tokenizer, settings=settings)
    for record in run_in_order(write, tasks, workers=workers):
        records.append(record)
        listener(track.add(record, marks.popleft()))
    return build.publish(records, reading, seconds=time.monotonic() - started)


def _sided(documents: Iterable[Document], split: Split | None) -> Iterator[DocumentWithSplit]:
    """Each document with the split it must go to, or None if its content decides."""
    return ((document, split) for document in documents)


def _marked(tasks: Iterable[ShardTask], meter: ByteCounter, marks: deque[int]) -> Iterator[ShardTask]:
    """The tasks; `marks` takes how much had been read when each was handed out."""
    for task in tasks:
        marks.append(meter.read)
        yield task


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
