"""Writes a notebook for each tutorial into examples/notebooks, from the same Markdown.

Usage: python tools/make_notebooks.py [--check]
Python blocks become code cells, `bash` blocks become cells of shell commands, everything else is text.
Links of the pages lead to docs/.
"""

import json
import re
import sys
from pathlib import Path

from generated_pages import write_or_check

ROOT = Path(__file__).parents[1]
TUTORIALS, OUT = ROOT / "docs" / "tutorials", ROOT / "examples" / "notebooks"
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PAGE_LINK = re.compile(r"\]\((?![a-z]+:|#)")
COMMANDS = """# The commands are those of the environment of this kernel, which may not be the activated one.
import os
import sys

os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
"""


def main() -> int:
    pages = sorted(TUTORIALS.glob("*.md"))
    notebooks = {OUT / f"{page.stem}.ipynb": notebook(page.read_text(encoding="utf-8")) for page in pages}
    OUT.mkdir(parents=True, exist_ok=True)
    return write_or_check(notebooks, check="--check" in sys.argv[1:])


def notebook(text: str) -> str:
    """The notebook of a page, as JSON of the notebook format 4.5."""
    cells, position = [], 0
    for match in BLOCK.finditer(text):
        cells += markdown(text[position : match.start()])
        lines = match[2].replace("\\\n", " ")
        shell = "".join(f"!{line}\n" for line in lines.splitlines() if line.strip())
        cells.append(code(shell if match[1] == "bash" else lines))
        position = match.end()
    cells += markdown(text[position:])
    cells.insert(1, code(COMMANDS))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    values = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def markdown(text: str) -> list[dict]:
    lines = PAGE_LINK.sub("](../../docs/tutorials/", text.strip()).splitlines(keepends=True)
    return [{"cell_type": "markdown", "metadata": {}, "source": lines}] if lines else []


def code(text: str) -> dict:
    source = text.strip().splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


if __name__ == "__main__":
    sys.exit(main())
