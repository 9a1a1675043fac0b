import io

from rich.console import Console

from litebert.cli.corpus.progress_bar import build_display, live_line
from litebert.corpus.build.build_progress import BuildProgress, LogProgress

NOW = BuildProgress(3, 40, 5000, 0.25, 8.1, 65.0)


def test_build_progress_is_logged_if_stderr_is_no_terminal():
    with build_display() as progress:
        assert isinstance(progress, LogProgress)


def test_build_progress_on_a_terminal_shows_share_rate_and_time_left(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        "litebert.cli.corpus.progress_bar.Console", lambda **_: Console(file=screen, force_terminal=True, width=120)
    )
    monkeypatch.setattr("litebert.cli.corpus.progress_bar.sys.stderr.isatty", lambda: True, raising=False)
    with build_display() as progress:
        progress(NOW)
    assert "25.0%, 3 shards, 40 documents, 5,000 tokens, 8.1 MB/s, 1 min 5 s left" in screen.getvalue()


def test_build_progress_of_unknown_size_shows_the_rate():
    screen = io.StringIO()
    with live_line(Console(file=screen, force_terminal=True, width=120)) as progress:
        progress(BuildProgress(3, 40, 5000, None, 8.1, None))
    assert "3 shards, 40 documents, 5,000 tokens, 8.1 MB/s" in screen.getvalue()
