"""Several runs at once, in processes of their own."""

import json
import os
import signal
import threading
import time

import pytest

from litebert.commands.sweep.run_trials import train_all, worker_env
from litebert.commands.sweep.sweep import sweep
from litebert.commands.sweep.trial_results import SweepPaths, result_of
from litebert.commands.sweep.trials import trials_of
from litebert.commands.sweep.worker import LeaveWithParent, main
from litebert.errors import StoppedBySignalError
from support.sweeps import table


def test_side_by_side_gives_the_same_table_as_one_by_one(planned, tmp_path):
    run = planned({"max_length": [200, 32], "seed": [0]})
    alone = sweep(run, tmp_path / "alone")
    together = sweep(run, tmp_path / "together", jobs=2)
    assert [each.state == "failed" for each in together.runs] == [True, False]
    assert [each.metrics for each in together.runs] == [each.metrics for each in alone.runs]
    assert table(tmp_path / "alone") == table(tmp_path / "together")
    assert "saved" in SweepPaths(tmp_path / "together").log("max_length=32,seed=0").read_text()


def test_a_process_that_dies_takes_nothing_along(planned, tmp_path, monkeypatch):
    run = planned({"seed": [0, 1]})
    monkeypatch.setattr("litebert.commands.sweep.run_trials.sys.executable", "false")
    train_all(trials_of(run), SweepPaths(tmp_path), jobs=2)
    outcomes = [result_of(cell, SweepPaths(tmp_path)) for cell in trials_of(run)]
    assert all("its process ended with code 1; see " in outcome.reason for outcome in outcomes)


def test_a_signal_saves_every_run_and_the_same_call_goes_on(planned, tmp_path):
    run = planned({"seed": [0, 1]}, duration="100000 steps", learning_rate=0.0001)
    places = SweepPaths(tmp_path)
    cells = trials_of(run)

    def interrupt_once_both_train():
        while not all((places.run(cell.name) / "metrics.jsonl").exists() for cell in cells):
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt_once_both_train).start()
    with pytest.raises(StoppedBySignalError, match="with every run saved"):
        train_all(cells, places, jobs=2)
    assert [result_of(cell, places).state for cell in cells] == ["unfinished", "unfinished"]
    assert all(list((places.run(cell.name) / "checkpoints").glob("step-*")) for cell in cells)


def test_threads_and_devices_are_divided():
    assert worker_env(0, 4, {}, devices=0) == {"OMP_NUM_THREADS": "4"}
    found = [worker_env(slot, 1, {}, devices=2)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert found == ["0", "1", "0"]
    assert worker_env(1, 1, {"CUDA_VISIBLE_DEVICES": "5,7"}, devices=2)["CUDA_VISIBLE_DEVICES"] == "7"


def test_a_run_leaves_with_the_process_that_started_it(monkeypatch):
    received = []
    monkeypatch.setattr("litebert.commands.sweep.worker.os.kill", lambda process, number: received.append(number))
    leave = LeaveWithParent()
    leave.on_step(None, None)
    assert received == []
    monkeypatch.setattr("litebert.commands.sweep.worker.os.getppid", lambda: 1)
    leave.on_step(None, None)
    assert received == [signal.SIGTERM]


def test_the_process_of_one_run_takes_its_settings_as_an_argument(planned, tmp_path, monkeypatch):
    (cell,) = trials_of(planned({"seed": [5]}))
    order = {"settings": cell.run.to_dict(), "out": str(tmp_path / "run"), "failure": str(tmp_path / "failure.json")}
    monkeypatch.setattr("sys.argv", ["sweep_process", json.dumps(order)])
    assert main() == 0
    assert (tmp_path / "run" / "result.json").exists()

    def stopped(*_, **__):
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    monkeypatch.setattr("litebert.commands.sweep.worker.train_one", stopped)
    assert main() == 143
