"""Build a corpus directory from text.

One process reads and plans; any number of processes tokenize and write shards. A shard is a function of its own text,
so the bytes do not depend on the number of processes, and an interrupted build keeps its finished shards.
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

from litebert.corpus.build.build_checks import (
    count_scripts,
    refuse_common_files,
    refuse_empty_validation,
    warn_overlap,
    warn_unknown_tokens,
)
from litebert.corpus.build.build_lock import lock_build
from litebert.corpus.build.build_progress import BuildTracker, LogProgress, ProgressCallback
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.parallel_map import run_in_order
from litebert.corpus.build.publish import entries_of, publish
from litebert.corpus.build.shard_plan import ShardTask, plan_shards
from litebert.corpus.build.shard_writer import ShardRecord, write_shard
from litebert.corpus.dedup.filters import DocumentWithSplit, filter_documents
from litebert.corpus.format.shards import FORMAT_VERSION, ShardEntry, Split
from litebert.corpus.readers.decompression import ByteCounter
from litebert.corpus.readers.documents import Document, find_files, read_documents, total_bytes
from litebert.durations import readable_seconds
from litebert.errors import ConfigError
from litebert.tokenization.tokenizer import Tokenizer

Source = str | Path | Iterable[str | Path] | Iterable[Document]
"""Files, globs and directories, read in the order of their paths; or documents, which keep their order."""


@dataclass(frozen=True)
class SplitReport:
    """Size of one split."""

    shards: int
    documents: int
    sentences: int
    tokens: int


@dataclass(frozen=True)
class CorpusReport:
    """Result of a build."""

    directory: Path
    splits: dict[Split, SplitReport]
    counts: dict[str, int]
    """What was read, repaired and left out, by name; docs/guides/corpus.md explains the names."""
    text_bytes: int
    """UTF-8 bytes of the text of the corpus."""
    reused_shards: int
    """Shards that an interrupted build had finished."""
    seconds: float

    def to_text(self) -> str:
        """Sizes of the splits, and what was read, repaired and left out."""
        sizes = [
            f"{split}: {size.documents:,} documents, {size.sentences:,} sentences, {size.tokens:,} tokens"
            for split, size in self.splits.items()
        ]
        counts = [f"{name}: {count:,}" for name, count in self.counts.items()]
        reused = [f"{self.reused_shards:,} shards reused from an interrupted build"] if self.reused_shards else []
        rate = f"{self.text_bytes / 1e6:,.1f} MB of text in {readable_seconds(self.seconds)}"
        return "\n".join([f"{self.directory}: {rate}", *sizes, *counts, *reused])


@dataclass
class Reading:
    """What is recorded while the sources are read."""

    counts: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    """The files that were found."""
    bytes_read: ByteCounter = field(default_factory=ByteCounter)
    scripts: Counter[str] = field(default_factory=Counter)
    """Letters of the first documents by script."""


@dataclass(frozen=True)
class CorpusBuild:
    """The arguments of a build, and the steps before and after the shards are written."""

    files: Source
    tokenizer: Tokenizer
    settings: CorpusSettings
    out: Path
    validation: Source = ()

    @property
    def directory(self) -> Path:
        """The temporary directory, which becomes `out` when the build is complete."""
        return self.out.with_name(f".{self.out.name}.building")

    def validate(self, *, workers: int) -> None:
        """Raise a ConfigError for invalid arguments, before anything is read."""
        if workers < 1:
            raise ConfigError(f"workers: must be at least 1, found {workers}")
        if self.out.exists():
            raise ConfigError(f"{self.out}: exists already; delete it or choose another directory")

    def plan(self, reading: Reading, *, workers: int) -> Iterator[ShardTask]:
        """Read the sources and yield the text of every shard, in order."""
        validation, files = (self._documents(source, reading) for source in (self.validation, self.files))
        refuse_common_files(reading.sources)
        documents = chain(
            _with_split(validation, "validation"), _with_split(count_scripts(files, reading.scripts), None)
        )
        filtered = filter_documents(documents, self.settings, reading.counts, workers=workers)
        key = json.dumps([FORMAT_VERSION, self.tokenizer.fingerprint, self.settings.to_dict()])
        return plan_shards(filtered, building=self.directory, key=key, settings=self.settings)

    def publish(self, records: Sequence[ShardRecord], reading: Reading, *, seconds: float) -> CorpusReport:
        """Turn the finished shards into the corpus."""
        counts = _total_counts(records, reading.counts)
        entries = entries_of(records)
        if any(entries.values()):
            refuse_empty_validation(self.out, entries, self.settings, has_validation_files=bool(self.validation))
        publish(
            self.directory,
            self.out,
            tokenizer=self.tokenizer,
            settings=self.settings,
            records=records,
            sources=reading.sources,
            counts=counts,
        )
        tokens = sum(record.entry.tokens for record in records)
        unknown = counts.get("unknown tokens", 0)
        warn_unknown_tokens(self.out, unknown=unknown, tokens=tokens, scripts=reading.scripts)
        warn_overlap(self.out)
        return CorpusReport(
            directory=self.out,
            splits={split: _split_report(shards) for split, shards in entries.items()},
            counts=counts,
            text_bytes=sum(record.text_bytes for record in records),
            reused_shards=sum(record.reused for record in records),
            seconds=seconds,
        )

    def _documents(self, source: Source, reading: Reading) -> Iterator[Document]:
        """The documents of a source; its files are recorded in `reading`."""
        items = iter([source] if isinstance(source, str | Path) else source)
        first = next(items, None)
        if first is None:
            return iter(())
        everything = chain([first], items)
        if isinstance(first, Document):
            return cast(Iterator[Document], everything)
        files = find_files(cast(Iterator[str | Path], everything), reading.counts)
        reading.sources.extend(str(file) for file in files)
        reading.bytes_read.total += total_bytes(files)
        return read_documents(files, self.settings, reading.counts, reading.bytes_read)


def build_corpus(
    files: Source,
    tokenizer: Tokenizer,
    settings: CorpusSettings,
    out: Path,
    *,
    validation: Source = (),
    workers: int = 1,
    progress: ProgressCallback | None = None,
) -> CorpusReport:
    """Write the corpus directory `out`; after an interruption the same call resumes with the unfinished shards.

    All documents of `validation` are in the validation split, in addition to the `validation_fraction` of `files`.
    `progress` is called after each shard; without it, progress is logged.

    Raises:
        ConfigError: `out` exists, another process builds it, or `workers` is less than 1.
        DataError: Text cannot be read, there is no text, or a validation document is also a training document.
    """
    build = CorpusBuild(files, tokenizer, settings, out, validation)
    build.validate(workers=workers)
    with lock_build(build.directory, out):
        build.validate(workers=workers)  # again, because another build may have finished before the lock was free
        return _run(build, workers=workers, progress=progress or LogProgress())


def _run(build: CorpusBuild, *, workers: int, progress: ProgressCallback) -> CorpusReport:
    started = time.monotonic()
    reading, offsets = Reading(), deque[int]()
    tasks = _record_offsets(build.plan(reading, workers=workers), reading.bytes_read, offsets)
    tracker = BuildTracker(reading.bytes_read.total)
    records: list[ShardRecord] = []
    write = partial(write_shard, tokenizer=build.tokenizer, settings=build.settings)
    for record in run_in_order(write, tasks, workers=workers):
        records.append(record)
        progress(tracker.add(record, offsets.popleft()))
    return build.publish(records, reading, seconds=time.monotonic() - started)


def _with_split(documents: Iterable[Document], split: Split | None) -> Iterator[DocumentWithSplit]:
    return ((document, split) for document in documents)


def _record_offsets(tasks: Iterable[ShardTask], bytes_read: ByteCounter, offsets: deque[int]) -> Iterator[ShardTask]:
    """The tasks; for each of them the number of bytes read so far is appended to `offsets`."""
    for task in tasks:
        offsets.append(bytes_read.read)
        yield task


def _total_counts(records: Sequence[ShardRecord], counts: Counter[str]) -> dict[str, int]:
    """Counts of reading plus those of all shards, without zeros."""
    total = Counter(counts)
    for record in records:
        total.update(record.counts)
    return {name: total[name] for name in sorted(total) if total[name]}


def _split_report(entries: Sequence[ShardEntry]) -> SplitReport:
    return SplitReport(
        shards=len(entries),
        documents=sum(entry.documents for entry in entries),
        sentences=sum(entry.sentences for entry in entries),
        tokens=sum(entry.tokens for entry in entries),
    )
