"""The notebooks have the blocks of the tutorials, which test_documentation_runs.py runs; one runs in a kernel."""

import json
from pathlib import Path

import pytest

from support.pages.documented_examples import text_of
from support.programs.processes import PYTHONPATH

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
CHECK = "\nassert _exit_code == 0, _exit_code"
"""After a command of the shell, which raises nothing in a notebook."""


def shell_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "".join(cell["source"])[:1] == "!"]


def test_notebook_of_each_tutorial_has_commands():
    for path in NOTEBOOKS.glob("*.ipynb"):
        assert shell_cells(json.loads(path.read_text(encoding="utf-8"))), path


@pytest.mark.filterwarnings("default")
def test_notebook_runs_in_a_new_kernel(stand_ins, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient, which runs notebooks, is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel, which runs notebooks, is not installed")
    nbformat = pytest.importorskip("nbformat")
    stand_ins.write(tmp_path, text_of("docs/tutorials/cluster.md"))
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    notebook = nbformat.read(NOTEBOOKS / "cluster.ipynb", as_version=4)
    for cell in shell_cells(notebook):
        cell["source"] += CHECK
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=120).execute()
    assert "a step" in str(shell_cells(notebook)[0]["outputs"])
