import logging
import sys

import pytest

from litebert.logs import LEVELS, log_to_stderr, readable_seconds


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


def test_level_of_the_environment_is_that_of_the_log(monkeypatch):
    monkeypatch.setenv("LITEBERT_LOG", "error")
    log_to_stderr()
    assert logging.getLogger("litebert").level == logging.ERROR
    monkeypatch.delenv("LITEBERT_LOG")
    log_to_stderr()
    assert logging.getLogger("litebert").level == logging.INFO


@pytest.mark.parametrize("terminal", [True, False])
def test_log_records_go_to_stderr_only(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    log_to_stderr("info")
    logging.getLogger("litebert.somewhere").info("a message")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "a message" in captured.err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.1234, "0.123 s"),
        (59.9, "59.9 s"),
        (59.97, "1 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7385, "2 h 3 min"),
        (86400 + 7200, "1 d 2 h"),
        (86400 + 60, "1 d"),
        (364 * 86400, "364 d"),
        (547.5 * 86400, "1.5 years"),
        (4135684 * 86400, "11,331 years"),
    ],
)
def test_readable_seconds_has_the_two_largest_units(seconds, text):
    assert readable_seconds(seconds) == text
