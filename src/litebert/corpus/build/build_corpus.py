"""Build a corpus directory from text.

One process reads and plans; any number of processes tokenize and write shards. A shard is a function of its own text,
so the bytes do not depend on the number of processes, and an interrupted build keeps its finished shards.
"""

import contextlib
import hashlib
import json
import shutil
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast

from litebert.corpus.build.build_checks import (
    count_scripts,
    refuse_common_files,
    refuse_empty_split,
    warn_overlap,
    warn_unknown_tokens,
)
from litebert.corpus.build.build_progress import BuildTracker, LogProgress, ProgressCallback
from litebert.corpus.build.shard_writer import ShardRecord, ShardTask, plan_shards, write_shard
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.dedup.near_duplicates import filter_documents
from litebert.corpus.format.shards import (
    FORMAT_VERSION,
    SPLITS,
    TOKENIZER,
    ShardEntry,
    Split,
    Vocabulary,
    write_description,
)
from litebert.corpus.readers.decompression import ByteCounter
from litebert.corpus.readers.documents import Document, find_files, read_documents, total_bytes
from litebert.errors import ConfigError, DataError
from litebert.files import fsync, locked, translate_os_errors
from litebert.logs import readable_seconds
from litebert.machine import validate_processes
from litebert.manifest import MANIFEST, write_manifest
from litebert.parallel_map import run_in_order
from litebert.tokenization.tokenizer import Tokenizer

LOCK = "build.lock"

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

    def __fspath__(self) -> str:
        """The corpus directory, so that a report is given where a corpus is asked for."""
        return str(self.directory)

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

    def validate(self) -> None:
        """Raise a ConfigError if the corpus exists, before anything is read."""
        if self.out.exists():
            raise ConfigError(f"{self.out}: exists already; delete it or choose another directory")

    def plan(self, reading: Reading, *, workers: int) -> Iterator[ShardTask]:
        """Read the sources and yield the text of every shard, in order."""
        validation, files = (self._documents(source, reading) for source in (self.validation, self.files))
        refuse_common_files(reading.sources)
        counted = count_scripts(files, reading.scripts)
        given: tuple[tuple[Iterator[Document], Split | None], ...] = ((validation, "validation"), (counted, None))
        documents = ((document, split) for source, split in given for document in source)
        filtered = filter_documents(documents, self.settings, reading.counts, workers=workers)
        key = json.dumps([FORMAT_VERSION, self.tokenizer.fingerprint, self.settings.to_dict()])
        return plan_shards(filtered, building=self.directory, key=key, settings=self.settings)

    def publish(self, records: Sequence[ShardRecord], reading: Reading, *, seconds: float) -> CorpusReport:
        """Turn the finished shards into the corpus, in one atomic step; raises DataError if there is no text."""
        total = sum((Counter(record.counts) for record in records), reading.counts)
        counts = {name: total[name] for name in sorted(total) if total[name]}
        used = [record.entry for record in records if record.entry.documents]
        entries = {split: [entry for entry in used if entry.path.startswith(f"{split}/")] for split in SPLITS}
        if not used:
            raise DataError(
                f"{self.out}: not built, because the files have no text; counts: {counts}; check the files and the "
                "filters"
            )
        self._refuse_empty_split(entries, documents=counts.get("documents read"))
        with translate_os_errors(self.out):
            _remove_all_but([entry.path for entry in used], self.directory)
            self.tokenizer.save(self.directory / TOKENIZER)
            write_description(
                self.directory,
                Vocabulary.of(self.tokenizer),
                entries,
                fingerprint=_fingerprint(self.tokenizer, records),
                tokenizer_fingerprint=self.tokenizer.fingerprint,
                settings=self.settings.to_dict(),
                sources=reading.sources,
                counts=counts,
            )
            for part in self.directory.rglob(MANIFEST):
                part.unlink()
            write_manifest(self.directory)
            self.directory.rename(self.out)
            fsync(self.out.parent)
        tokens = sum(record.entry.tokens for record in records)
        unknown = counts.get("unknown tokens", 0)
        warn_unknown_tokens(self.out, unknown=unknown, tokens=tokens, scripts=reading.scripts)
        warn_overlap(self.out)
        return CorpusReport(
            directory=self.out,
            splits={
                split: SplitReport(
                    len(shards),
                    *(sum(getattr(each, name) for each in shards) for name in ("documents", "sentences", "tokens")),
                )
                for split, shards in entries.items()
            },
            counts=counts,
            text_bytes=sum(record.text_bytes for record in records),
            reused_shards=sum(record.reused for record in records),
            seconds=seconds,
        )

    def _refuse_empty_split(self, entries: dict[Split, list[ShardEntry]], *, documents: int | None) -> None:
        """`documents`: number of documents read, if they were read from files; it does not count parts."""
        in_shards = sum(entry.documents for shards in entries.values() for entry in shards)
        has_validation = bool(self.settings.validation_fraction or self.validation)
        refuse_empty_split(
            self.out,
            entries,
            self.settings,
            documents=in_shards if documents is None else documents,
            requested={"train": bool(self.files), "validation": has_validation},
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
        ConfigError: `out` exists, another process builds it, or `workers` is out of range.
        DataError: Text cannot be read, there is no text, or a validation document is also a training document.
    """
    build = CorpusBuild(files, tokenizer, settings, out, validation)
    validate_processes(workers, where="workers")
    build.validate()
    with _locked(build.directory, out):
        build.validate()  # again, because another build may have finished before the lock was free
        return _run(build, workers=workers, progress=progress or LogProgress())


@contextlib.contextmanager
def _locked(directory: Path, out: Path) -> Iterator[None]:
    """Lock the temporary directory of a build, which is created; removed if the build failed before its first shard."""
    busy = ConfigError(f"{out}: another process is building this corpus; wait for it or choose another --out")
    with locked(directory / LOCK, busy=busy):
        try:
            yield
        finally:
            if directory.is_dir() and {path.name for path in directory.iterdir()} <= {LOCK}:
                shutil.rmtree(directory)


def _run(build: CorpusBuild, *, workers: int, progress: ProgressCallback) -> CorpusReport:
    started = time.monotonic()
    reading, offsets = Reading(), deque[int]()
    planned = build.plan(reading, workers=workers)
    tracker = BuildTracker(reading.bytes_read.total)

    def tasks() -> Iterator[ShardTask]:
        for task in planned:
            offsets.append(reading.bytes_read.read)
            yield task

    records: list[ShardRecord] = []
    write = partial(write_shard, tokenizer=build.tokenizer, settings=build.settings)
    for record in run_in_order(write, tasks(), workers=workers):
        records.append(record)
        progress(tracker.add(record, offsets.popleft()))
    return build.publish(records, reading, seconds=time.monotonic() - started)


def _remove_all_but(shards: Collection[str], building: Path) -> None:
    """Remove files of an interrupted build, or of a build of other text."""
    wanted = {*shards, *(Path(shard).parent.as_posix() for shard in shards)}
    for path in [*building.glob("*"), *building.glob("*/*")]:
        if path.relative_to(building).as_posix() not in wanted:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _fingerprint(tokenizer: Tokenizer, records: Sequence[ShardRecord]) -> str:
    """Hex digest of the tokens of all shards and of the tokenizer."""
    content = [tokenizer.fingerprint, *(f"{record.entry.path} {record.content}" for record in records)]
    return hashlib.blake2b("\n".join(sorted(content)).encode(), digest_size=16).hexdigest()
