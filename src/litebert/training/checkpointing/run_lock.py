"""A lock on a run directory, so that only one process trains in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from litebert.errors import CheckpointError
from litebert.files import translate_os_errors

_NAME = ".lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock `directory` until the block ends; a CheckpointError if another process has locked it.

    The operating system releases the lock of a process that ends, even after `kill -9`.
    """
    lock = FileLock(directory / _NAME)
    with translate_os_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise CheckpointError(
                f"{directory}: another process is training in this directory; wait for it, stop it, or choose another"
            ) from None
    try:
        yield
    finally:
        lock.release()
