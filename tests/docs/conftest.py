"""The option --update-docs, and the directory in which the examples of a page run."""

import pytest

from support.pages.documented_examples import text_of
from support.pages.stand_ins import StandIns
from support.programs.server_in_process import serve_in_process
from support.runs.short_runs import shorten_runs


def pytest_addoption(parser):
    parser.addoption("--update-docs", action="store_true", help="write what the examples print into the pages")


@pytest.fixture
def update_docs(request):
    return request.config.getoption("update_docs", default=False)


@pytest.fixture(scope="session")
def stand_ins(tiny_tokenizer, tmp_path_factory):
    return StandIns(tmp_path_factory.mktemp("stand-ins"), tiny_tokenizer)


@pytest.fixture
def workspace(stand_ins, tmp_path, monkeypatch):
    """Makes the files that a page names in a new directory, in which short runs take place."""

    def enter(page):
        directory = tmp_path / "workspace"
        directory.mkdir()
        stand_ins.write(directory, text_of(page))
        monkeypatch.chdir(directory)
        shorten_runs(monkeypatch)
        serve_in_process(monkeypatch)
        return directory

    return enter
