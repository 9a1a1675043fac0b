"""Turn finished shards into a corpus directory, in one atomic step."""

import hashlib
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.corpus.build.shard_writer import ShardRecord
from litebert.corpus.format.shards import SPLITS, TOKENIZER, ShardEntry, Split, write_description
from litebert.corpus.format.vocabulary import Vocabulary
from litebert.errors import DataError
from litebert.files import MANIFEST, fsync_directory, translate_os_errors, write_manifest
from litebert.tokenization.tokenizer import Tokenizer


def publish(
    building: Path,
    out: Path,
    *,
    tokenizer: Tokenizer,
    settings: CorpusSettings,
    records: Sequence[ShardRecord],
    sources: Sequence[str],
    counts: dict[str, int],
) -> None:
    """Add description, tokenizer and manifest to the shards in `building`, then rename it to `out`.

    Raises:
        DataError: No shard has a document.
    """
    entries = entries_of(records)
    shards = [entry.path for split in SPLITS for entry in entries[split]]
    if not shards:
        raise DataError(
            f"{out}: not built, because the files have no text; counts: {counts}; check the files and the filters"
        )
    with translate_os_errors(out):
        _remove_all_but(shards, building)
        tokenizer.save(building / TOKENIZER)
        write_description(
            building,
            Vocabulary.of(tokenizer),
            entries,
            fingerprint=_fingerprint(tokenizer, records),
            tokenizer_fingerprint=tokenizer.fingerprint,
            settings=settings.to_dict(),
            sources=list(sources),
            counts=counts,
        )
        for part in building.rglob(MANIFEST):
            part.unlink()
        write_manifest(building)
        building.rename(out)
        fsync_directory(out.parent)


def entries_of(records: Sequence[ShardRecord]) -> dict[Split, list[ShardEntry]]:
    """The shards of each split that have documents."""
    entries = [record.entry for record in records if record.entry.documents]
    return {split: [entry for entry in entries if entry.path.startswith(f"{split}/")] for split in SPLITS}


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
