"""Tests of the compiled kernels run where they can be compiled."""

import pytest

from litebert.model.kernels.native.library import native_library

NEEDS_GCC = pytest.mark.skipif(native_library() is None, reason="the kernels need GCC and Linux")
BOTH = [pytest.param(True, id="native", marks=NEEDS_GCC), pytest.param(False, id="torch")]
"""With the compiled kernels and with those of torch."""
