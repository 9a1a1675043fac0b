"""Tests of the compiled kernels run where there is GCC; there they must compile."""

import platform
import shutil

import pytest

NEEDS_GCC = pytest.mark.skipif(
    platform.system() != "Linux" or not shutil.which("g++"), reason="the kernels need GCC and Linux"
)
BOTH = [pytest.param(True, id="native", marks=NEEDS_GCC), pytest.param(False, id="torch")]
"""With the compiled kernels and with those of torch."""
