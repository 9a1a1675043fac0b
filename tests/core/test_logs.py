import logging
import sys

import pytest

from litebert.logs import LEVELS, log_to_stderr


@pytest.fixture(autouse=True)
def _restored():
    logger = logging.getLogger("litebert")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.mark.parametrize("level", LEVELS)
def test_log_to_stderr_sets_the_level(level):
    log_to_stderr(level)
    assert logging.getLogger("litebert").level == getattr(logging, level.upper())


@pytest.mark.parametrize("terminal", [True, False])
def test_log_records_go_to_stderr_only(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    log_to_stderr("info")
    logging.getLogger("litebert.somewhere").info("a message")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "a message" in captured.err
