"""The parent of several workers, with processes that are not started."""

import os
import signal
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("uvicorn")

from litebert.serving import server_workers
from litebert.serving.server_workers import SETTINGS, ServerWorkers, create_worker_app

CANNOT_START = 3


class Worker:
    """A worker that answers if it has no exit code and is not starting."""

    def __init__(self, pid: int, *, exitcode: int | None = None, is_starting: bool = False) -> None:
        self.pid, self.exitcode, self.is_starting = pid, exitcode, is_starting
        self.process = SimpleNamespace(is_alive=lambda: self.exitcode is None)

    def ping(self, timeout: float) -> bool:
        return self.exitcode is None

    def is_ready(self) -> bool:
        return self.exitcode is None and not self.is_starting

    def wait_until_ready(self, *_: object) -> bool:
        return self.exitcode is None

    def start(self) -> None:
        pass

    join = kill = start


@pytest.fixture
def parent(monkeypatch):
    """A parent whose new workers have process ids from 10."""
    ids = iter(range(10, 100))
    monkeypatch.setattr(server_workers, "Process", lambda *_: Worker(next(ids)))
    found = object.__new__(ServerWorkers)
    found.config, found.sockets = SimpleNamespace(timeout_worker_healthcheck=1), []
    found.should_exit = threading.Event()
    return found


@pytest.fixture
def signals(monkeypatch):
    """(process id, signal) of each that was sent."""
    sent = []
    monkeypatch.setattr(os, "kill", lambda *each: sent.append(each))
    return sent


@pytest.fixture
def without_metrics(monkeypatch):
    """The workers whose metrics are left out."""
    ended = []
    monkeypatch.setattr(server_workers, "mark_process_dead", ended.append)
    return ended


def test_sighup_reaches_one_worker_that_is_ready(parent, signals, caplog):
    parent.processes = [Worker(1, is_starting=True), Worker(2), Worker(3)]
    parent.handle_hup()
    assert signals == [(2, signal.SIGHUP)]
    del parent.processes[1:]
    parent.handle_hup()
    assert len(signals) == 1
    assert "no worker is ready" in caplog.text


def test_sigusr1_reaches_every_worker(parent, signals):
    parent.processes = [Worker(1, is_starting=True), Worker(2), Worker(3, exitcode=1)]
    parent.handle_usr1()
    assert signals == [(pid, signal.SIGUSR1) for pid in (1, 2)]


def test_worker_that_died_is_replaced_and_leaves_the_metrics(parent, without_metrics):
    parent.processes = [Worker(1), Worker(2, exitcode=-signal.SIGKILL)]
    parent.keep_subprocess_alive()
    assert [each.pid for each in parent.processes] == [1, 10]
    assert without_metrics == [2]
    assert not parent.should_exit.is_set()


def test_worker_that_cannot_start_is_tried_again_after_a_time_while_others_answer(parent, without_metrics, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(server_workers.time, "monotonic", lambda: now[0])
    parent.processes = [Worker(1), Worker(2, exitcode=CANNOT_START)]
    parent.keep_subprocess_alive()
    assert parent.processes[1].pid == 10
    parent.processes[1].exitcode = CANNOT_START
    for now[0], pid in ((109.0, 10), (111.0, 11)):
        parent.keep_subprocess_alive()
        assert parent.processes[1].pid == pid
    assert not parent.should_exit.is_set()


def test_server_ends_if_no_worker_can_start(parent):
    parent.processes = [Worker(1, exitcode=CANNOT_START), Worker(2, is_starting=True)]
    parent.keep_subprocess_alive()
    assert parent.should_exit.is_set()


def test_worker_that_cannot_start_ends_with_a_message(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv(SETTINGS, f'{{"models": ["{tmp_path}"]}}')
    monkeypatch.setattr(server_workers, "log_to_stderr", lambda: None)
    with pytest.raises(SystemExit) as ended:
        create_worker_app()
    assert ended.value.code == 3
    assert "has no config.json; give a model or a run" in caplog.text
