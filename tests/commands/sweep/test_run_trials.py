"""Trials in parallel, in processes of their own."""

import json
import os
import signal
import threading

import pytest

from litebert.commands.sweep.run_trials import main, train_all, train_one, trial_worker
from litebert.commands.sweep.sweep import sweep
from litebert.commands.sweep.sweep_settings import trials_of
from litebert.commands.sweep.trial_results import SweepPaths, result_of
from litebert.errors import StoppedBySignalError
from support.runs.sweeps import table


@pytest.mark.usefixtures("forked_python")
def test_parallel_trials_give_the_same_table_as_sequential_ones(planned, tmp_path):
    run = planned({"max_length": [200, 32], "seed": [0]})
    alone = sweep(run, tmp_path / "alone")
    together = sweep(run, tmp_path / "together", jobs=2)
    assert [each.state == "failed" for each in together.trials] == [True, False]
    assert [each.metrics for each in together.trials] == [each.metrics for each in alone.trials]
    assert table(tmp_path / "alone") == table(tmp_path / "together")
    assert "saved" in SweepPaths(tmp_path / "together").log("max_length=32,seed=0").read_text()


def test_crashed_worker_does_not_stop_other_trials(planned, tmp_path, monkeypatch):
    run = planned({"seed": [0, 1]})
    monkeypatch.setattr("litebert.commands.worker_processes.sys.executable", "false")
    train_all(trials_of(run), SweepPaths(tmp_path), jobs=2)
    results = [result_of(trial, SweepPaths(tmp_path)) for trial in trials_of(run)]
    assert all("its process ended with code 1; see " in result.reason for result in results)


@pytest.mark.usefixtures("forked_python")
def test_signal_saves_the_state_of_every_parallel_trial(planned, tmp_path):
    run = planned({"seed": [0, 1]}, duration="100000 steps", learning_rate=0.0001)
    paths = SweepPaths(tmp_path)
    trials = trials_of(run)

    ended = threading.Event()

    def interrupt_once_both_train():
        while not ended.wait(0.2):
            if all((paths.run(trial.name) / "metrics.jsonl").exists() for trial in trials):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    thread = threading.Thread(target=interrupt_once_both_train)
    thread.start()
    try:
        with pytest.raises(StoppedBySignalError, match="every trial has saved its state"):
            train_all(trials, paths, jobs=2)
    finally:  # so that no later test gets the signal
        ended.set()
        thread.join()
    assert [result_of(trial, paths).state for trial in trials] == ["unfinished", "unfinished"]
    assert all(list((paths.run(trial.name) / "checkpoints").glob("step-*")) for trial in trials)


def test_worker_takes_its_settings_as_an_argument(planned, tmp_path, monkeypatch):
    (trial,) = trials_of(planned({"seed": [5]}))
    arguments = {
        "settings": trial.run.to_dict(),
        "out": str(tmp_path / "run"),
        "failure": str(tmp_path / "failure.json"),
    }
    monkeypatch.setattr("sys.argv", ["run_trials", json.dumps(arguments)])
    assert main() == 0
    assert (tmp_path / "run" / "result.json").exists()

    def stopped(*_, **__):
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    monkeypatch.setattr("litebert.commands.sweep.run_trials.train_one", stopped)
    assert main() == 143


def test_trial_that_succeeds_removes_its_earlier_failure(planned, tmp_path, monkeypatch):
    (trial,) = trials_of(planned({"seed": [5]}))
    failure = tmp_path / "failure.json"
    failure.write_text("{}")
    monkeypatch.setattr("litebert.commands.sweep.run_trials.finetune", lambda *_, **__: None)
    train_one(trial.run, tmp_path / "run", failure)
    assert not failure.exists()


def test_worker_of_a_trial_begins_without_its_earlier_failure(planned, tmp_path):
    (trial,) = trials_of(planned({"seed": [5]}))
    failure = tmp_path / "failure.json"
    failure.write_text("{}")
    trial_worker(trial.name, trial.run, tmp_path / "run", failure=failure, log=tmp_path / "log")
    assert not failure.exists()
