"""Several runs at once, in processes of their own."""

import json
import os
import signal
import threading
import time

import pytest

from litebert.errors import StoppedBySignalError
from litebert.runs.sweep import sweep
from litebert.runs.sweep_grid import cells_of
from litebert.runs.sweep_outcomes import Places, outcome_of
from litebert.runs.sweep_process import LeaveWithParent, main
from litebert.runs.sweep_training import surroundings, train_all
from litebert.training.duration import Position
from litebert.training.events import StepDone

from .test_sweep import planned, pretrained, table  # noqa: F401


def test_side_by_side_gives_the_same_table_as_one_by_one(planned, tmp_path):  # noqa: F811
    run = planned({"max_length": [200, 32], "seed": [0]})
    alone = sweep(run, tmp_path / "alone")
    together = sweep(run, tmp_path / "together", jobs=2)
    assert [each.state == "failed" for each in together.runs] == [True, False]
    assert [each.metrics for each in together.runs] == [each.metrics for each in alone.runs]
    assert table(tmp_path / "alone") == table(tmp_path / "together")
    assert "saved" in Places(tmp_path / "together").log("max_length=32,seed=0").read_text()


def test_a_process_that_dies_takes_nothing_along(planned, tmp_path, monkeypatch):  # noqa: F811
    run = planned({"seed": [0, 1]})
    monkeypatch.setattr("litebert.runs.sweep_training.sys.executable", "false")
    train_all(cells_of(run), Places(tmp_path), jobs=2)
    outcomes = [outcome_of(cell, Places(tmp_path)) for cell in cells_of(run)]
    assert all("its process ended with code 1; see " in outcome.reason for outcome in outcomes)


def test_a_signal_saves_every_run_and_the_same_call_goes_on(planned, tmp_path):  # noqa: F811
    run = planned({"seed": [0, 1]}, duration="100000 steps", learning_rate=0.0001)
    places = Places(tmp_path)
    cells = cells_of(run)

    def interrupt_once_both_train():
        while not all((places.run(cell.name) / "metrics.jsonl").exists() for cell in cells):
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt_once_both_train).start()
    with pytest.raises(StoppedBySignalError, match="with every run saved"):
        train_all(cells, places, jobs=2)
    assert [outcome_of(cell, places).state for cell in cells] == ["unfinished", "unfinished"]
    assert all(list((places.run(cell.name) / "checkpoints").glob("step-*")) for cell in cells)


def test_threads_and_devices_are_divided():
    assert surroundings(0, 4, {}, devices=0) == {"OMP_NUM_THREADS": "4"}
    found = [surroundings(slot, 1, {}, devices=2)["CUDA_VISIBLE_DEVICES"] for slot in range(3)]
    assert found == ["0", "1", "0"]
    assert surroundings(1, 1, {"CUDA_VISIBLE_DEVICES": "5,7"}, devices=2)["CUDA_VISIBLE_DEVICES"] == "7"


def test_a_run_leaves_with_the_process_that_started_it(monkeypatch):
    received = []
    monkeypatch.setattr("litebert.runs.sweep_process.os.kill", lambda process, number: received.append(number))
    leave = LeaveWithParent()
    event = StepDone(Position(), {})
    leave(event)
    assert received == []
    monkeypatch.setattr("litebert.runs.sweep_process.os.getppid", lambda: 1)
    leave(event)
    assert received == [signal.SIGTERM]


def test_the_process_of_one_run_takes_its_settings_as_an_argument(planned, tmp_path, monkeypatch):  # noqa: F811
    (cell,) = cells_of(planned({"seed": [5]}))
    order = {"settings": cell.run.to_dict(), "out": str(tmp_path / "run"), "failure": str(tmp_path / "failure.json")}
    monkeypatch.setattr("sys.argv", ["sweep_process", json.dumps(order)])
    assert main() == 0
    assert (tmp_path / "run" / "result.json").exists()

    def stopped(*_, **__):
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    monkeypatch.setattr("litebert.runs.sweep_process.train_one", stopped)
    assert main() == 143
