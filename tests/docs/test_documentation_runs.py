"""On small data the Python blocks of the documentation run, and the commands of the tutorials.

Every command of every page is parsed.
"""

import functools
import importlib
import shutil

import pytest

from litebert.cli.main import COMMANDS, main
from support.documentation import blocks, make_workspace, pages, small, words_of

PAGES = pages()
PYTHON = [block for page in PAGES for block in blocks(page) if block.language == "python"]
WITH_COMMANDS = [page for page in PAGES if any(block.commands for block in blocks(page))]
SKIPPED_BLOCKS = {
    ("docs/guides/export.md", "*"): "needs an exported model; tests/runtime calls the same methods",
    ("docs/guides/fine-tuning.md", "*"): "lists methods of models of different tasks",
    ("docs/guides/question-answering.md", "*"): "needs a model for questions; tests/inference calls the same methods",
    ("docs/guides/embeddings.md", "*"): "needs encoders of the reader; tests/commands/embed",
    ("docs/guides/corpus.md", "*"): "needs files of the reader; the corpus of docs/guides/python-api.md runs",
    ("docs/guides/serving.md", "*"): "needs a running server; tests/serving",
    ("docs/reference/modern-block.md", "*"): "needs a model with the modern block; tests/model/io/test_remote_code.py",
    ("docs/reference/training.md", "*"): "shows where classes of your own are used",
    ("docs/formats/checkpoints.md", "*"): "shows calls on a model that the reader has",
}
"""(page, beginning of a Python block or *) → why it does not run."""
REMOVED = {"docs/reference/tokenizer.md": ("tokenizer",)}
"""Page → what its Python blocks make themselves."""
SKIPPED_COMMANDS = {
    "litebert quickstart": "minutes; tests/commands/quickstart",
    "litebert export": "needs the extra `export`; tests/export",
    "litebert reproduce": "minutes; tests/commands/reproduce",
    "litebert push": "needs the hub; tests/model/io/test_push.py",
}
"""Beginning of a command → why it does not run on small data; it is parsed all the same."""


@pytest.fixture(scope="session")
def made(tiny_tokenizer, tmp_path_factory):
    return make_workspace(tmp_path_factory.mktemp("documentation"), tiny_tokenizer)


@pytest.fixture
def workspace(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "workspace", symlinks=True)
    monkeypatch.chdir(tmp_path / "workspace")
    return tmp_path / "workspace"


def command_of(words):
    return next(name for name in sorted(COMMANDS, key=len, reverse=True) if words[: len(name.split())] == name.split())


def is_skipped(block):
    return any(page == block.page and (first == "*" or block.text.startswith(first)) for page, first in SKIPPED_BLOCKS)


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_is_parsed(page, monkeypatch):
    for command in (command for block in blocks(page) for command in block.commands if "…" not in command):
        words = [word for word in words_of(command) if word != "$SETTINGS"]
        module, _, name = COMMANDS[command_of(words)][0].partition(":")
        owner = importlib.import_module(f"litebert.cli.{module}")
        function = getattr(owner, name)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, functools.wraps(function)(lambda *_, **__: None))
            assert main(words) == 0, command


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", sorted({block.page for block in PYTHON}))
def test_python_blocks_of_a_page_run_in_order(page, workspace, capsys):
    for made_by_the_page in REMOVED.get(page, ()):
        shutil.rmtree(workspace / made_by_the_page)
    names = {"__name__": "block"}
    for block in (block for block in PYTHON if block.page == page and not is_skipped(block)):
        for needed in ("transformers", "datasets", "pandas"):
            if needed in block.text:
                pytest.importorskip(needed)
        exec(compile(block.text.replace("vocab_size=8000", "vocab_size=60"), f"{page}:{block.number}", "exec"), names)


@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if page.startswith("docs/tutorials/")])
def test_commands_of_a_page_run_in_order(page, workspace, capsys):
    for made_by_the_page in ("run", "tokenizer", "corpus", "tuned"):
        path = workspace / made_by_the_page
        if any(f"--out {made_by_the_page}" in command for block in blocks(page) for command in block.commands):
            path.unlink() if path.is_symlink() else shutil.rmtree(path)
    for command in (command for block in blocks(page) for command in block.commands):
        if "…" in command or any(command.startswith(skipped) for skipped in SKIPPED_COMMANDS):
            continue
        assert main(small(words_of(command))) == 0, f"{command}\n{capsys.readouterr().err[-2000:]}"
