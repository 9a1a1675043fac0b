"""The door of the command: which verb is meant, and what an interruption or a closed pipe means."""

import os
import subprocess
import sys

import pytest

from litebert.cli import main as door
from litebert.cli.main import main


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["pretain", "tiny"], "unknown command 'pretain tiny'; did you mean 'pretrain'?"),
        (["corpus", "biuld"], "did you mean 'corpus build' or 'corpus verify' or 'corpus show' or 'corpus stats'?"),
        (["xyzzy"], "unknown command 'xyzzy'; see: litebert --help"),
    ],
)
def test_an_unknown_verb_is_told_the_nearest(capsys, words, hint):
    assert main(words) == 2
    answer = capsys.readouterr()
    assert hint in answer.err
    assert answer.out == ""


def test_an_interruption_is_no_traceback(monkeypatch, capsys):
    def interrupt(verb, rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "_call", interrupt)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err.endswith("litebert: interrupted\n")


def test_our_own_bugs_are_tracebacks(monkeypatch):
    def broken(verb, rest):
        raise ZeroDivisionError

    monkeypatch.setattr(door, "_call", broken)
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


def test_a_reader_that_leaves_is_no_error(made):
    """`litebert … | head -0`."""
    words = [sys.executable, "-u", "-m", "litebert", "corpus", "show", str(made / "corpus"), "--number", "30"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(("level", "said"), [("info", True), ("error", False)])
def test_the_environment_says_how_much_is_said(made, tmp_path, monkeypatch, capsys, level, said):
    monkeypatch.setenv("LITEBERT_LOG", level)
    words = ["convert", str(made / "run" / "model"), str(tmp_path / "out"), "--to", "litebert"]
    (made / "run" / "model" / "SHA256SUMS").rename(tmp_path / "kept")
    try:
        assert main(words) == 0
    finally:
        (tmp_path / "kept").rename(made / "run" / "model" / "SHA256SUMS")
    assert ("damage cannot be detected" in capsys.readouterr().err) is said
