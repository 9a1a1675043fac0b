"""Runs the tests marked `gpu` and counts their outcomes. Part of `gpu_check.py`, and a command of its own.

python tools/gpu_tests.py --out DIR      writes DIR/tests.json

It ignores the project's pytest settings, since the plugins that they name may not be installed on a GPU machine.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from litebert.files import write_json

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
PLAIN = (
    "-c",
    os.devnull,
    "--rootdir",
    str(ROOT),
    "-p",
    "no:cacheprovider",
    "--import-mode=importlib",
    "--continue-on-collection-errors",
)

ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""All tests were run, or there were none."""


def main() -> int:
    arguments = _arguments()
    where = ROOT / "tests" / "model" / "kernels" / "test_attention_kernels.py" if arguments.tiny else ROOT / "tests"
    outcomes = run(where)
    failed = [name for name, tags in outcomes.items() if tags & {"failure", "error"}]
    skipped = [name for name, tags in outcomes.items() if "skipped" in tags]
    passed = len(outcomes) - len(failed) - len(skipped)
    write_json(arguments.out / "tests.json", {"passed": passed, "skipped": len(skipped), "failed": failed})
    nothing_ran = arguments.device == "cuda" and not passed
    return int(bool(failed) or nothing_ran)


def run(where: Path) -> dict[str, set[str]]:
    """Test (or file that could not be imported) → the tags in JUnit's XML, such as `failure`."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "junit.xml"
        code = pytest.main([*PLAIN, "-m", "gpu", "-q", "-rs", f"--junitxml={file}", str(where)])
        if not file.exists() or code not in ENDED:
            sys.exit(f"{where}: the tests did not run to their end (pytest's code {code}); the reason is above")
        cases = list(ElementTree.parse(file).iter("testcase"))
    return {f"{case.get('classname')}::{case.get('name')}": {child.tag for child in case} for case in cases}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="on cuda it is a failure if all tests are skipped"
    )
    parser.add_argument("--tiny", action="store_true", help="one file of tests only")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
