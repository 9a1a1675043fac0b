"""A lock on the temporary directory of a build, so that two builds of one corpus do not disturb each other."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from litebert.errors import ConfigError
from litebert.files import translate_os_errors

LOCK = "build.lock"


@contextlib.contextmanager
def lock_build(directory: Path, out: Path) -> Iterator[None]:
    """Hold the lock of the build in `directory`, which is created; it ends with the process, even if it is killed.

    Raises:
        ConfigError: Another process on this machine builds the same corpus.
    """
    try:
        import fcntl
    except ImportError:  # no such lock on Windows
        yield
        return
    with translate_os_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / LOCK).open("wb")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"{out}: another process is building this corpus; wait for it or choose another --out"
            ) from None
        try:
            yield
        finally:
            _remove_if_empty(directory)


def _remove_if_empty(directory: Path) -> None:
    """Remove the directory of a build that failed before its first shard."""
    if directory.is_dir() and [path.name for path in directory.iterdir()] == [LOCK]:
        (directory / LOCK).unlink()
        directory.rmdir()
