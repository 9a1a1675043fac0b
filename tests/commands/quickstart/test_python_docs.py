"""The documentation on the machine: prose only, once each, found without importing or running anything."""

import importlib.util
import logging
import sys
import textwrap
from types import SimpleNamespace

import pytest

from litebert.commands.quickstart import quickstart_text
from litebert.commands.quickstart.quickstart_text import prose_paragraphs, python_pages

PROSE = "This sentence is long enough to be taken for prose"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A small Python, numpy and torch; gives the function that adds a source file to it."""
    for name in ("stdlib", "numpy", "torch"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(quickstart_text.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path / "stdlib")})

    def find(name):
        return SimpleNamespace(submodule_search_locations=[str(tmp_path / name)])

    monkeypatch.setattr(importlib.util, "find_spec", find)

    def add(path, content):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(content))

    return add


def pages():
    return {page.name: page for page in python_pages()}


def test_python_pages_have_docstrings_in_the_order_of_the_file(machine):
    source = f'''
        """{PROSE} one."""
        def function():
            """{PROSE} two."""
        class Thing:
            """{PROSE} three."""
            async def method(self):
                """{PROSE} four."""
        '''
    machine("torch/nn/modules/linear.py", source)
    (page,) = python_pages()
    assert page.name == "torch/nn/modules/linear"
    assert page.label == "torch.nn"
    assert [text.split()[-1] for text in page.paragraphs] == ["one.", "two.", "three.", "four."]


def test_python_pages_include_the_reference_topics(machine):
    machine("stdlib/pydoc_data/topics.py", f"topics = {{'if': '{PROSE}.', 'nothing': ''}}\n")
    assert pages()["topics/if"].label == "python reference"
    assert set(pages()) == {"topics/if"}


def test_python_pages_without_topics_logs_a_warning(machine, caplog):
    machine("numpy/a.py", f'"""{PROSE}."""')
    with caplog.at_level(logging.WARNING):
        assert set(pages()) == {"numpy/a"}
    assert "will not have Python's reference topics" in caplog.text


def test_python_pages_have_every_paragraph_once(machine):
    for path in ("numpy/a.py", "numpy/b.py", "torch/c.py"):
        machine(path, f'"""{PROSE}."""\ndef function():\n    """{PROSE}."""\n')
    assert [(page.name, len(page.paragraphs)) for page in python_pages()] == [("numpy/a", 1)]


@pytest.mark.parametrize("folder", sorted(quickstart_text.SKIPPED_FOLDERS))
def test_python_pages_leave_out_tests_and_caches(machine, folder):
    machine(f"numpy/{folder}/a.py", f'"""{PROSE}."""')
    assert pages() == {}


@pytest.mark.parametrize("content", ["def broken(:\n", "a = '\x00'\n"])
def test_python_pages_skip_source_of_another_python(machine, content):
    machine("numpy/bad.py", content)
    machine("numpy/good.py", f'"""{PROSE}."""')
    assert set(pages()) == {"numpy/good"}


def test_python_pages_do_not_execute_or_import(machine):
    machine("torch/_dangerous.py", f'"""{PROSE}."""\nraise SystemExit("was run")\n')
    page = pages()["torch/_dangerous"]
    assert page.label == "torch.dangerous"
    assert "torch._dangerous" not in sys.modules


def test_python_pages_do_not_warn_about_escape_sequences(machine):
    machine("numpy/a.py", f'"""{PROSE}."""\nx = "\\d"\n')
    assert set(pages()) == {"numpy/a"}


def test_prose_paragraphs_are_prose_only():
    docstring = f"""{PROSE},
        on two lines.

        Parameters
        ----------

        >>> code = 1 + 2
        3

        {PROSE} before code.
        >>> print("hello")

        1 2 3 4 5 6 7 8 9 10 11 12

        Too few words.
        """
    assert prose_paragraphs(docstring) == [f"{PROSE}, on two lines.", f"{PROSE} before code."]


def test_python_pages_of_this_installation():
    page = next(python_pages())
    assert page.name.startswith(("topics/", "python/"))
    assert page.paragraphs
