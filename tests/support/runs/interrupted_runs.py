"""Commands that write predictions window after window, and end before the last one."""

import pickle
import signal
import sys

import pytest

from litebert.commands.row_files import resumable_output
from support.programs.forks import ForkedPopen

KILLED = """
import os, pickle, signal, sys
from litebert.commands.row_files import input_file, resumable_output

input_file.ROWS_PER_WINDOW = 4
save, saved = resumable_output._save_state, []

def save_and_die(path, file, state):
    save(path, file, state)
    saved.append(state)
    if len(saved) == 2:
        file.write(b"half a row")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

resumable_output._save_state = save_and_die
command, settings = pickle.loads(bytes.fromhex(sys.argv[1]))
command(settings)
"""


class InterruptedRunError(BaseException):
    """The process ends here."""


def interrupt(monkeypatch, run):
    """Call `run`, but end after two windows."""
    save, saved = resumable_output._save_state, []

    def save_and_end(*arguments):
        save(*arguments)
        saved.append(arguments)
        if len(saved) == 2:
            raise InterruptedRunError

    with monkeypatch.context() as patch:
        patch.setattr(resumable_output, "_save_state", save_and_end)
        with pytest.raises(InterruptedRunError):
            run()


def kill(command, settings):
    """Do `command(settings)` in a process that is killed after two windows of four rows, while it writes the third."""
    killed = ForkedPopen([sys.executable, "-c", KILLED, pickle.dumps((command, settings)).hex()])
    assert killed.wait() == -signal.SIGKILL
