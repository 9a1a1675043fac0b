"""A disk that has no room, without one."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Let the system refuse what would make any file longer, as a full disk does: a part of it is still written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
