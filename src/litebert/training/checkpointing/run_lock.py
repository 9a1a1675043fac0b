"""One run at a time in a directory. Before: `trainer.py` begins. After: another that would write there is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from litebert.errors import CheckpointError
from litebert.files import translate_os_errors

_NAME = ".lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold `directory` until the block ends; a CheckpointError if another process holds it.

    The operating system holds the lock for the process, so that of a dead one is free at once, even after `kill -9`.
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
