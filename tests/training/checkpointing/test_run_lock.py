"""Two runs never write in one directory; a dead one holds nothing."""

import signal
import subprocess
import sys

import pytest

from litebert.errors import CheckpointError
from litebert.training.checkpointing.run_lock import locked
from support.toy import train

HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_run_is_refused_and_the_first_is_not_disturbed(tmp_path):
    refused = []

    def listener(event):
        if isinstance(event, StepDone) and event.position.step == 2:
            with pytest.raises(CheckpointError, match="another process is training in this directory"):
                train(tmp_path)
            refused.append(True)

    _, result = train(tmp_path, callbacks=[listener])
    assert (refused, result.steps) == ([True], 6)


def test_a_lock_is_held_against_other_processes_and_that_of_a_dead_one_is_free(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / ".lock")], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(CheckpointError, match="another process"), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with locked(tmp_path):
        pass


def test_it_is_free_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


def test_a_directory_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file/run: could not be written"), locked(tmp_path / "file" / "run"):
        pass
