"""The program's entry point: unknown commands, interruptions, closed pipes, log levels."""

import os
import subprocess
import sys

import pytest

from litebert.cli import main as main_module
from litebert.cli.main import main


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["pretain", "tiny"], "unknown command 'pretain tiny'; did you mean 'pretrain'?"),
        (["corpus", "biuld"], "did you mean 'corpus build'?"),
        (["corpus", "xyzzy"], "did you mean 'corpus build' or 'corpus verify' or 'corpus show' or 'corpus stats'?"),
        (["tokeniser"], "did you mean 'tokenizer train' or 'tokenizer encode'?"),
        (["xyzzy"], "unknown command 'xyzzy'; see: litebert --help"),
    ],
)
def test_unknown_command_suggests_the_nearest(capsys, words, hint):
    assert main(words) == 2
    answer = capsys.readouterr()
    assert hint in answer.err
    assert answer.out == ""


def test_interruption_prints_no_traceback(monkeypatch, capsys):
    def interrupt(command, rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "_call", interrupt)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err.endswith("litebert: interrupted; the same command can be run again\n")


def test_unknown_log_level_is_a_usage_error(monkeypatch, capsys):
    monkeypatch.setenv("LITEBERT_LOG", "warn")
    assert main(["doctor"]) == 2
    assert "LITEBERT_LOG=warn: no such log level; did you mean 'warning'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.txt"), 3, "litebert: a.txt: no such file or directory;"),
        (PermissionError(13, "Permission denied", "out"), 4, "litebert: out: permission denied;"),
        (OSError(28, "No space left on device"), 4, "litebert: no space left on device;"),
    ],
)
def test_error_of_the_operating_system_is_one_sentence(monkeypatch, capsys, error, code, message):
    def fail(command, rest):
        raise error

    monkeypatch.setattr(main_module, "_call", fail)
    assert main(["doctor"]) == code
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried …")]
)
def test_failed_allocation_is_one_sentence(monkeypatch, capsys, error):
    def fail(command, rest):
        raise error

    monkeypatch.setattr(main_module, "_call", fail)
    assert main(["doctor"]) == 4
    assert capsys.readouterr().err.startswith("litebert: out of memory; use a smaller model")


def test_unexpected_error_is_a_traceback(monkeypatch):
    def broken(command, rest):
        raise ZeroDivisionError

    monkeypatch.setattr(main_module, "_call", broken)
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


@pytest.mark.usefixtures("forked_python")
def test_closed_output_pipe_is_no_error(made):
    """`litebert … | head -0`."""
    words = [sys.executable, "-u", "-m", "litebert", "corpus", "show", str(made / "corpus"), "--number", "30"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(("level", "logged"), [("info", True), ("error", False)])
def test_environment_variable_sets_the_log_level(made, tmp_path, monkeypatch, capsys, level, logged):
    monkeypatch.setenv("LITEBERT_LOG", level)
    words = ["convert", str(made / "run" / "model"), str(tmp_path / "out"), "--to", "litebert"]
    (made / "run" / "model" / "SHA256SUMS").rename(tmp_path / "kept")
    try:
        assert main(words) == 0
    finally:
        (tmp_path / "kept").rename(made / "run" / "model" / "SHA256SUMS")
    assert ("damage cannot be detected" in capsys.readouterr().err) is logged


@pytest.mark.parametrize(("chosen", "expected"), [(None, "10000"), ("0", "0")])
def test_waiting_threads_spin_as_long_as_the_user_says(monkeypatch, chosen, expected):
    monkeypatch.setenv("GOMP_SPINCOUNT", chosen or "")  # restored after the test, also where `main` sets it
    if chosen is None:
        monkeypatch.delenv("GOMP_SPINCOUNT")
    seen = []
    monkeypatch.setattr(main_module, "_call", lambda *_: seen.append(os.environ["GOMP_SPINCOUNT"]) or 0)
    assert main(["info", "tiny"]) == 0
    assert seen == [expected]
