"""Processes of a sweep, of several tasks or of a reproduction: a stop of the command reaches all that run."""

import os
import signal
import threading
import time

import pytest

from litebert.commands import worker_processes
from litebert.commands.worker_processes import Worker, run_workers, worker_env
from litebert.errors import LitebertError, StoppedBySignalError

PROGRAM = """
import signal, sys, time
from pathlib import Path

def save(number, frame):
    print("saved", flush=True)
    sys.exit(128 + number)

signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
task, *awaited = sys.argv[1:]
while not all(Path(log).exists() and "ready" in Path(log).read_text() for log in awaited):
    time.sleep(0.02)
time.sleep(100 if task.startswith("long") else 0)
sys.exit(3 if task.startswith("failing") else 0)
"""
"""A task `long…` runs until it gets a signal; `failing…` fails once the tasks with these logs have started."""
pytestmark = pytest.mark.usefixtures("forked_python")


@pytest.fixture
def worker(tmp_path):
    def worker(task, *awaited):
        logs = [str(tmp_path / f"{each}.log") for each in awaited]
        return Worker(task, ("-c", PROGRAM, task, *logs), tmp_path / f"{task}.log")

    return worker


@pytest.fixture
def lines_of(tmp_path):
    """What a task has logged."""

    def lines_of(task):
        log = tmp_path / f"{task}.log"
        return log.read_text().split() if log.exists() else []

    return lines_of


def test_worker_env_divides_threads_and_devices():
    assert worker_env(0, 4, {}, devices=0) == {"OMP_NUM_THREADS": "4"}
    found = [worker_env(slot, 1, {}, devices=2)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert found == ["0", "1", "0"]
    assert worker_env(1, 1, {"CUDA_VISIBLE_DEVICES": "5,7"}, devices=2)["CUDA_VISIBLE_DEVICES"] == "7"


def test_failed_tasks_are_returned_with_those_that_need_them(worker, lines_of):
    codes = {}

    def ended(task, code):
        codes[task] = code
        return code == 0

    needs = {"after": ["failing"], "last": ["after"], "later": ["short"]}
    tasks = ["after", "failing", "short", "last", "later"]
    failed = run_workers(tasks, worker, ended, jobs=2, stopped="stopped", needs=lambda task: needs.get(task, ()))
    assert sorted(failed) == ["after", "failing", "last"]
    assert codes == {"failing": 3, "short": 0, "later": 0}
    assert lines_of("after") == lines_of("last") == []


def test_every_worker_that_has_ended_is_reported_before_the_first_error(worker, monkeypatch):
    monkeypatch.setattr(worker_processes, "_POLL_SECONDS", 1.0)  # both have ended by then
    reported = []

    def ended(task, code):
        reported.append(task)
        raise LitebertError(f"{task}: code {code}")

    tasks = ["failing first", "failing second"]
    with pytest.raises(LitebertError, match="failing first: code 3"):
        run_workers(tasks, worker, ended, jobs=2, stopped="stopped")
    assert reported == tasks


def test_threads_are_divided_among_no_more_workers_than_there_are_tasks(monkeypatch, worker):
    seen, start = [], worker_processes._start

    def counted(*given, threads, **options):
        seen.append(threads)
        return start(*given, threads=threads, **options)

    monkeypatch.setattr(worker_processes.torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(worker_processes, "_start", counted)
    assert run_workers(["a", "b"], worker, lambda task, code: code == 0, jobs=4, stopped="stopped") == []
    assert seen == [4, 4]


def test_error_after_a_worker_stops_the_others(worker, lines_of):
    def ended(task, code):
        raise LitebertError(f"{task}: code {code}")

    with pytest.raises(LitebertError, match="failing: code 3"):
        run_workers(
            ["long", "failing", "never"],
            lambda task: worker(task, *(["long"] if task == "failing" else [])),
            ended,
            jobs=2,
            stopped="stopped",
        )
    assert [lines_of(task) for task in ("long", "never")] == [["ready", "saved"], []]


def test_error_before_a_worker_stops_the_others(worker, lines_of):
    def start(task):
        if task == "long":
            return worker(task)
        while not lines_of("long"):
            time.sleep(0.02)
        raise LitebertError("the disk is full")

    with pytest.raises(LitebertError, match="the disk is full"):
        run_workers(["long", "never"], start, lambda task, code: True, jobs=2, stopped="stopped")
    assert lines_of("long") == ["ready", "saved"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_every_worker(worker, lines_of, number):
    ended = threading.Event()

    def interrupt_once_both_run():
        while not ended.wait(0.02):
            if lines_of("long-1") and lines_of("long-2"):
                os.kill(os.getpid(), number)
                return

    thread = threading.Thread(target=interrupt_once_both_run)
    thread.start()
    try:
        with pytest.raises(StoppedBySignalError, match="stopped") as error:
            run_workers(["long-1", "long-2", "never"], worker, lambda task, code: True, jobs=2, stopped="stopped")
    finally:  # so that no later test gets the signal
        ended.set()
        thread.join()
    assert error.value.exit_code == 128 + number
    assert [lines_of(f"long-{task}") for task in (1, 2)] == [["ready", "saved"]] * 2
    assert lines_of("never") == []
