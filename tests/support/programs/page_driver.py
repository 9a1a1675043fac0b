"""The page in a headless browser."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HARNESS = Path(__file__).parents[1] / "browser"
MODULES = Path(os.environ.get("LITEBERT_NODE_MODULES", HARNESS / "node_modules"))


def drive_page(url: str) -> dict[str, Any]:
    """What every tab showed at two widths; skips the test where Chromium, Node or playwright-core is missing."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None or shutil.which("node") is None:
        pytest.skip("needs chromium and node")
    if not (MODULES / "playwright-core").is_dir():
        pytest.skip(f"no playwright-core in {MODULES}; run `npm install --ignore-scripts` in tests/support/browser")
    command = ["node", str(HARNESS / "drive_page.cjs"), url, chromium]
    environment = {**os.environ, "NODE_PATH": str(MODULES)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
