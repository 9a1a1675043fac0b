"""Assignment of documents to shards.

The plan depends on the documents and the settings only, so a second build has the same tasks with the same digests.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.dedup.filters import DocumentWithSplit
from litebert.corpus.format.shards import SPLITS
from litebert.corpus.readers.documents import Document
from litebert.errors import DataError


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

    def add(self, document: Document, digest: bytes) -> None:
        self.documents.append(document.sentences)
        self.digests.append(digest)
        self.text_bytes += len(document.text().encode("utf-8", "replace"))

    def to_task(self, building: Path, path: str, key: str) -> ShardTask:
        source = hashlib.blake2b(key.encode() + b"".join(self.digests), digest_size=16).hexdigest()
        return ShardTask(building, path, source, tuple(self.documents), self.text_bytes)


def plan_shards(
    documents: Iterable[DocumentWithSplit], *, building: Path, key: str, settings: CorpusSettings
) -> Iterator[ShardTask]:
    """Group documents into shards of about `settings.shard_bytes`; a split of None is chosen by the content.

    `key` is part of the digest of every task: everything else that the bytes of a shard depend on. DataError if a
    training document is equal to a document of the validation files.
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
        shards[split].add(document, digest)
        if shards[split].text_bytes >= settings.shard_bytes:
            yield shards[split].to_task(building, f"{split}/{finished[split]:05d}", key)
            shards[split] = _OpenShard()
            finished[split] += 1
    for split, shard in shards.items():
        if shard.documents:
            yield shard.to_task(building, f"{split}/{finished[split]:05d}", key)
