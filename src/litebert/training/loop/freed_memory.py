"""Keeps freed memory in the process while a model is trained on a CPU with Linux.

glibc returns large blocks to the system when they are freed, so a step that allocates the same tensors again has a page
fault for each of their pages: 5 to 9 % of a training run of small models (docs/results/performance.md).
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4  # numbers of `mallopt` in malloc.h
_KEEP: Final = {_MMAP_MAX: 0, _TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 2**26}
_RETURN: Final = {_MMAP_MAX: 2**16, _MMAP_THRESHOLD: 2**25, _TRIM_THRESHOLD: 2**26, _TOP_PAD: 2**17}
"""Defaults of glibc; for the two thresholds those up to which it raises them itself, until one of them is set."""


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Inside the block, most memory that is freed stays in the process; after it, the system gets it back.

    Without glibc (macOS, Windows, musl) nothing changes.
    """
    libc = _glibc()
    if libc is None:
        yield
        return
    _set(libc, _KEEP)
    try:
        yield
    finally:
        _set(libc, _RETURN)
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None


def _set(libc: ctypes.CDLL, thresholds: dict[int, int]) -> None:
    for parameter, value in thresholds.items():
        libc.mallopt(parameter, value)
