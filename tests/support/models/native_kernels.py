"""Tests of the compiled kernels run where they can be compiled."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from litebert.model.kernels.native.library import native_library, use_native_kernels

NEEDS_GCC = pytest.mark.skipif(native_library() is None, reason="the kernels need GCC and Linux")
BOTH = [pytest.param(True, id="native", marks=NEEDS_GCC), pytest.param(False, id="torch")]
"""With the compiled kernels and with those of torch."""


@contextmanager
def native_kernels(enabled: bool) -> Iterator[None]:
    """Whether the process uses the compiled kernels."""
    use_native_kernels(enabled)
    try:
        yield
    finally:
        use_native_kernels(True)
