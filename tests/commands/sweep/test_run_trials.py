"""Trials in parallel, in processes of their own."""

import os
import signal
import threading

import pytest

from litebert.commands.sweep.run_trials import train_all
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
    assert "saved" in SweepPaths(tmp_path / "together").files.log("max_length=32,seed=0").read_text()


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
