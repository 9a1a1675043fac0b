"""Which document goes into which shard. Before: filters. After: shard_writer, in any process.

The plan depends on the documents and the settings alone, so a second run makes the same tasks with the same digests.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from litebert.corpus.readers.documents import Document
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import SPLITS, Split


@dataclass(frozen=True)
class ShardTask:
    """The text of one shard, and where its arrays go."""

    building: Path
    """The directory that is to become the corpus."""
    path: str
    """Directory of the shard in it, such as `train/00003`."""
    source: str
    """Hex digest of the text and of all that decides what becomes of it."""
    documents: tuple[tuple[str, ...], ...]
    text_bytes: int


def plan_shards(
    documents: Iterable[tuple[Document, Split | None]],
    *,
    building: Path,
    key: str,
    settings: CorpusSettings,
) -> Iterator[ShardTask]:
    """Documents gathered into shards of about `settings.shard_bytes`; a split of None is drawn from the content.

    `key` enters every task's digest: whatever else the bytes of a shard depend on.
    """
    parts = {split: _Part(split) for split in SPLITS}
    for document, split in documents:
        content = "\n".join(document.sentences).encode("utf-8", "replace")
        digest = hashlib.blake2b(content, digest_size=16).digest()
        part = parts[split or _drawn_split(digest, settings.validation_fraction)]
        part.add(document, digest, len(content))
        if part.text_bytes >= settings.shard_bytes:
            yield part.close(building, key)
    yield from (part.close(building, key) for part in parts.values() if part.documents)


@dataclass
class _Part:
    """The shard of a split that is being filled."""

    split: Split
    number: int = 0
    documents: list[tuple[str, ...]] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    text_bytes: int = 0

    def add(self, document: Document, digest: bytes, text_bytes: int) -> None:
        self.documents.append(document.sentences)
        self.digests.append(digest)
        self.text_bytes += text_bytes

    def close(self, building: Path, key: str) -> ShardTask:
        """The task of the shard; the part goes on with the next one."""
        source = hashlib.blake2b(key.encode() + b"".join(self.digests), digest_size=16).hexdigest()
        path = f"{self.split}/{self.number:05d}"
        task = ShardTask(building, path, source, tuple(self.documents), self.text_bytes)
        self.__init__(self.split, self.number + 1)
        return task


def _drawn_split(digest: bytes, validation_fraction: float) -> Split:
    """The same document is on the same side in every build, wherever it stands."""
    return "held_out" if int.from_bytes(digest[:8], "big") < validation_fraction * 2**64 else "train"
