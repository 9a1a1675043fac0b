"""The first signal is remembered; the second does what it does by default."""

import os
import signal
import threading

import pytest

from litebert.training.signals import WATCHED, StopSignals


@pytest.mark.parametrize("number", WATCHED)
def test_the_first_signal_is_remembered_and_the_second_is_not_held_back(number):
    with StopSignals() as signals:
        assert signals.number == 0
        os.kill(os.getpid(), number)
        assert signals.number == number
        assert {signal.getsignal(watched) for watched in WATCHED} == {signal.SIG_DFL}


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
