"""The first signal is remembered; the second does what it does by default."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from litebert.training.loop.signals import WATCHED, StopSignals


@pytest.mark.parametrize("number", WATCHED)
def test_the_first_signal_is_remembered_and_the_second_is_not_held_back(number):
    with StopSignals() as signals:
        assert signals.number == 0
        os.kill(os.getpid(), number)
        assert signals.number == number
        assert {signal.getsignal(watched) for watched in WATCHED} == {signal.SIG_DFL}


STUBBORN = """
import time
from litebert.training.loop.signals import StopSignals

with StopSignals() as signals:
    print("ready", flush=True)
    while not signals.number:
        time.sleep(0.01)
    print("saving", flush=True)
    time.sleep(60)
"""


def test_a_second_ctrl_c_ends_a_process_that_is_busy_saving():
    process = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True)
    with process.stdout as told:
        assert told.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert told.readline() == "saving\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT


def test_handlers_are_put_back():
    before = [signal.getsignal(watched) for watched in WATCHED]
    with StopSignals():
        assert [signal.getsignal(watched) for watched in WATCHED] != before
    assert [signal.getsignal(watched) for watched in WATCHED] == before


def test_outside_the_main_thread_nothing_is_watched():
    before = [signal.getsignal(watched) for watched in WATCHED]

    def watch() -> None:
        with StopSignals():
            assert [signal.getsignal(watched) for watched in WATCHED] == before

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
