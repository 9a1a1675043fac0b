"""Every benchmark can be imported, in a process of its own, as if it were started from its directory."""

import subprocess
import sys
from pathlib import Path

import pytest

OWN_ENVIRONMENT = "libraries.quantize_openvino"
"""Needs libraries that do not go with those of litebert."""
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(
    ".".join(path.relative_to(BENCHMARKS).with_suffix("").parts)
    for path in BENCHMARKS.rglob("*.py")
    if path.name != "__init__.py"
)
MODULES.remove(OWN_ENVIRONMENT)
IMPORT = "import importlib, sys; sys.path[0] = sys.argv[1]; importlib.import_module(sys.argv[2])"
pytestmark = pytest.mark.usefixtures("forked_python")


@pytest.mark.parametrize("module", MODULES)
def test_benchmark_can_be_imported(module):
    command = [sys.executable, "-c", IMPORT, str(BENCHMARKS), module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
