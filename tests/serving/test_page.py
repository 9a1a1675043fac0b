"""The page in a headless browser."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from litebert.serving.routes.page_routes import FILES
from support.serving import ServerProcess

NODE = {**os.environ, "NODE_PATH": os.environ.get("LITEBERT_NODE_MODULES", os.environ.get("NODE_PATH", ""))}
DRIVER = Path(__file__).with_name("drive_page.cjs")
TITLES = {"Fill mask", "Classify", "Answer questions", "Compare", "Tag words", "Choose"}


def browser() -> str:
    """The path of Chromium; skips the test where it, Node or playwright-core is missing."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None or shutil.which("node") is None:
        pytest.skip("needs chromium and node")
    check = ["node", "-e", 'require("playwright-core")']
    if subprocess.run(check, capture_output=True, env=NODE, check=False).returncode:
        pytest.skip("needs the npm package playwright-core in LITEBERT_NODE_MODULES")
    return found


def test_page_answers_in_every_tab_with_the_keyboard_and_at_two_widths(saved):
    chromium = browser()
    names = ("masked", "classifier", "reader", "tagger", "chooser")
    with ServerProcess(*(saved[name] for name in names), "--max-tokens-per-text", "400") as server:
        command = ["node", str(DRIVER), server.url, chromium]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=NODE, check=False)
    assert done.returncode == 0, done.stderr
    for seen in json.loads(done.stdout).values():
        assert seen["errors"] == seen["elsewhere"] == []
        assert set(seen["tabs"]) == TITLES
        for title, tab in seen["tabs"].items():
            assert tab["message"] == "", title
            assert tab["answer"], title
            assert " tokens, " in tab["cost"]
            assert f"curl {server.url}/" in tab["curl"]
            assert tab["overflow"] <= 0, f"{title} is wider than the window"
        assert sum(seen["tabs"]["Classify"]["bars"]) == pytest.approx(1, abs=0.03)
        assert "has no [MASK]" in seen["message"]
        assert "POST /question-answering" in seen["routes"]


def test_page_files_name_no_other_host():
    for path in FILES.iterdir():
        hosts = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").count("://")
        assert hosts == 0, path.name
