"""Only one run trains in a directory; one that ended does not hold the lock."""

import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from litebert.errors import CheckpointError
from litebert.training.checkpointing.checkpoint import locked_directory
from support.runs.callbacks import At
from support.runs.toy import train

pytestmark = pytest.mark.usefixtures("forked_python")

HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_run_lock_refuses_a_second_run(tmp_path):
    refused = []

    def train_again():
        with pytest.raises(CheckpointError, match="another process is at work in this directory"):
            train(tmp_path)
        refused.append(True)

    _, result = train(tmp_path, callbacks=[At("step", 2, train_again)])
    assert (refused, result.steps) == ([True], 6)


def test_run_lock_holds_against_other_processes_until_they_end(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / ".lock")], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(CheckpointError, match="another process"), locked_directory(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with locked_directory(tmp_path):
        pass


def test_run_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), locked_directory(tmp_path):
        raise ZeroDivisionError
    with locked_directory(tmp_path):
        pass


def test_run_lock_in_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(CheckpointError, match="file/run: could not be written"),
        locked_directory(tmp_path / "file" / "run"),
    ):
        pass


def test_run_lock_is_released_at_the_end_of_the_block(tmp_path, monkeypatch):
    """Not later, when the lock object is deleted."""
    locks = []
    monkeypatch.setattr("filelock.FileLock", lambda path: locks.append(FileLock(path)) or locks[-1])
    with locked_directory(tmp_path):
        assert locks[0].is_locked
    assert not locks[0].is_locked
