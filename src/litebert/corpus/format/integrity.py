"""Checks of shard files when they are opened for training: checksums and the range of token ids."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from litebert.errors import DataError
from litebert.files import MANIFEST, sha256


def check_file(path: Path, expected: str) -> None:
    """Raise a DataError unless the SHA-256 of a file is `expected`.

    The checksum is computed once in a process, unless the size or the modification time of the file changes. It reads
    the whole file; hashing takes about 0.5 to 3 s per GB, depending on the processor.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DataError(f"{path}: missing; build the corpus again or copy it again") from None
    found = _cached_sha256(path, status.st_size, status.st_mtime_ns)
    if found != expected:
        raise DataError(
            f"{path}: damaged: SHA-256 is {found[:12]}…, {MANIFEST} says {expected[:12]}…; build the corpus again or "
            "copy it again"
        )


def check_token_ids(tokens: np.ndarray, path: Path, *, vocab_size: int) -> None:
    """Raise a DataError with the offset of the first token id that is not below `vocab_size`."""
    if len(tokens) and int(tokens.max()) >= vocab_size:
        offset = int(np.argmax(tokens >= vocab_size))
        raise DataError(
            f"{path}: token id {int(tokens[offset])} at offset {offset}, expected ids below {vocab_size}; "
            "build the corpus again or copy it again"
        )


@lru_cache(maxsize=2**20)
def _cached_sha256(path: Path, size: int, modified_ns: int) -> str:
    return sha256(path)
