"""Progress of a corpus build: shares, rates and the remaining time."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from litebert.corpus.build.shard_writer import ShardRecord
from litebert.logs import readable_seconds

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuildProgress:
    """State of a build after one more shard."""

    shards: int
    documents: int
    tokens: int
    share_read: float | None
    """Share of the files that is in finished shards; None if the text does not come from files."""
    megabytes_per_second: float
    """Text tokenized per second, without shards of an interrupted build."""
    seconds_left: float | None
    """Estimate; None if the share or the rate is unknown."""

    def __str__(self) -> str:
        share = "" if self.share_read is None else f"{self.share_read:.1%}, "
        left = "" if self.seconds_left is None else f", {readable_seconds(self.seconds_left)} left"
        finished = f"{self.shards:,} shards, {self.documents:,} documents, {self.tokens:,} tokens"
        return f"{share}{finished}, {self.megabytes_per_second:.1f} MB/s{left}"


ProgressCallback = Callable[[BuildProgress], None]


class LogProgress:
    """Logs progress at the first shard and then at most every `seconds` seconds."""

    def __init__(self, *, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._last = -float("inf")

    def __call__(self, progress: BuildProgress) -> None:
        """Log the progress if the last line is old enough."""
        if time.monotonic() - self._last >= self._seconds:
            self._last = time.monotonic()
            logger.info("corpus: %s", progress)


class BuildTracker:
    """Adds up shards; the time is measured from the first shard that is not reused."""

    def __init__(self, total_bytes: int) -> None:
        self._total_bytes = total_bytes
        self._shards = self._documents = self._tokens = self._written_bytes = self._read_before = 0
        self._began = time.monotonic()

    def add(self, record: ShardRecord, read_bytes: int) -> BuildProgress:
        """Progress with one more shard, for which `read_bytes` bytes of the files had been read."""
        self._shards += 1
        self._documents += record.entry.documents
        self._tokens += record.entry.tokens
        if record.reused:
            self._began, self._read_before = time.monotonic(), read_bytes
        else:
            self._written_bytes += record.text_bytes
        seconds = max(time.monotonic() - self._began, 1e-9)
        newly_read, unread = read_bytes - self._read_before, self._total_bytes - read_bytes
        return BuildProgress(
            shards=self._shards,
            documents=self._documents,
            tokens=self._tokens,
            share_read=read_bytes / self._total_bytes if self._total_bytes else None,
            megabytes_per_second=self._written_bytes / seconds / 1e6,
            seconds_left=seconds * unread / newly_read if self._total_bytes and newly_read else None,
        )
