"""A run ends when the process that started it was killed."""

import signal

from litebert.training.callbacks.stop_with_parent import StopWithParent


def test_one_signal_is_sent_once_the_parent_has_ended(monkeypatch):
    received = []
    module = "litebert.training.callbacks.stop_with_parent.os"
    monkeypatch.setattr(f"{module}.kill", lambda process, number: received.append(number))
    callback = StopWithParent()
    callback.stop_if_parent_ended()
    assert received == []
    monkeypatch.setattr(f"{module}.getppid", lambda: 1)
    callback.stop_if_parent_ended()
    callback.stop_if_parent_ended()
    assert received == [signal.SIGTERM]
