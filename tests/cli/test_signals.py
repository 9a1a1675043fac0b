"""Signals: the state is saved, the exit code is 128 + the signal, the same command resumes the run."""

import signal
import subprocess
import sys

import pytest

from litebert.cli.main import main
from support.runs.pretrain_runs import TOY

pytestmark = pytest.mark.usefixtures("forked_python")

SIGNALLED = """
import os, sys
from litebert.cli.main import main
from litebert.training.loop.step import TrainStep

update, steps = TrainStep.update, []

def update_with_signal(*arguments, **options):
    steps.append(None)
    if len(steps) == 3:
        os.kill(os.getpid(), int(sys.argv[1]))
    return update(*arguments, **options)

TrainStep.update = update_with_signal
sys.exit(main(sys.argv[2:]))
"""
"""`litebert …` that gets a signal during its third step."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_saves_the_state_and_the_same_command_resumes(made, tmp_path, capsys, caplog, number):
    settings = [*(word for word in TOY if "duration" not in word), "train.duration=8 steps"]
    words = ["pretrain", "quickstart", *settings, "--corpus", str(made / "corpus"), "--out", str(tmp_path / "run")]
    command = [sys.executable, "-c", SIGNALLED, str(int(number)), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 128 + number, done.stderr
    assert done.stdout == ""
    assert "the state is saved" in done.stderr
    assert main(words) == 0
    answer = capsys.readouterr()
    assert "8 steps" in answer.out
    assert "resum" in answer.err
