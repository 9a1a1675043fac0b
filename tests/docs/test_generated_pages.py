"""Generated pages are those that the code gives now, and the site has no dead link."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.programs.processes import PYTHONPATH

pytestmark = pytest.mark.usefixtures("forked_python")

ROOT = Path(__file__).parents[2]


def run(tool, *arguments):
    command = [sys.executable, str(ROOT / "tools" / tool), *arguments]
    return subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": PYTHONPATH, "PATH": ""}, capture_output=True, text=True)


@pytest.mark.parametrize("tool", ["generate_reference.py", "make_notebooks.py"])
def test_generated_pages_are_current(tool):
    done = run(tool, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_reference_has_signatures_fields_and_docstrings():
    page = (ROOT / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
    assert (
        "## `finetune`\n\n```python\nfinetune(\n    model: str | os.PathLike[str],\n    *,\n    train: Data = None,\n"
        in page
    )
    assert "\n- `metrics`: names of metrics or functions; the first selects the best model." in page
    assert "### `Classification`\n" in page
    assert "| `probabilities` | `dict[str, float]` |  | Of every label, in the order of the model. |" in page
    assert "| `text_pair` | `str \\| None` | `None` | The second text of a pair;" in page
    assert ":::" not in page


def test_reference_of_an_unknown_name_names_the_module(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from api_reference import Module

    with pytest.raises(SystemExit, match=r"litebert\.errors: no Absent; correct"):
        Module.read("litebert.errors").entry("Absent", level=2)


def test_diagram_has_each_package_below_those_that_it_imports(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from generate_reference import LAYERS, import_table

    row = {package: number for number, packages in enumerate(LAYERS) for package in packages}
    table = import_table()
    assert set(row) == set(table)
    assert not [f"{one} → {other}" for one in table for other in table[one] if row[one] <= row[other]]


def test_site_builds_without_warnings_and_dead_links(tmp_path):
    pytest.importorskip("zensical")
    done = run("build_site.py", str(tmp_path / "site"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    pages = (tmp_path / "site" / "llms.txt").read_text(encoding="utf-8")
    assert "## Tutorials" in pages
    assert "```" not in pages
