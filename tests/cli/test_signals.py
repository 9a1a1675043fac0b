"""Signals: the state is saved, the exit code is 128 + the signal, the same command resumes the run."""

import os
import signal
import subprocess
import sys
import time

import pytest

from litebert.cli.main import main
from support.pretrain_runs import TOY


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_saves_the_state_and_the_same_command_resumes(made, tmp_path, capsys, number):
    out = tmp_path / "run"
    settings = [*(word for word in TOY if "duration" not in word), "train.duration=400 steps"]
    words = ["pretrain", "quickstart", *settings, "--corpus", str(made / "corpus"), "--out", str(out)]
    command = [sys.executable, "-m", "litebert", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (out / "metrics.jsonl").exists():
        time.sleep(0.01)
    process.send_signal(number)
    result, messages = process.communicate(timeout=120)
    assert process.returncode == 128 + number, messages
    assert result == ""
    assert "the state is saved" in messages
    assert main(words) == 0
    assert "400 steps" in capsys.readouterr().out
