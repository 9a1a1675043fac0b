"""Sweeps end to end: compared, resumed, with runs that fail and runs that collapse."""

import json
import shlex
from dataclasses import replace

import pytest

from litebert.cli.main import main
from litebert.commands.sweep.sweep import sweep
from litebert.errors import CheckpointError, ConfigError, LitebertError, StoppedBySignalError
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.training.checkpointing.run_lock import locked
from litebert.training.monitoring.events import StepDone
from support.sweeps import table


def test_several_seeds_are_trained_and_summarised(planned, tmp_path):
    result = sweep(planned({"seed": [0, 1, 2]}), tmp_path / "out")
    (row,) = result.configurations
    scores = sorted(run.metrics["accuracy"] for run in result.runs)
    assert (row.statistics["accuracy"].median, row.statistics["accuracy"].best) == (scores[1], scores[2])
    assert "(all seeds)" in result.to_text()
    assert "development rows: there the best looks better than it is" in result.to_text()
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["best_run"] == result.best_run
    assert "| (all seeds) | 3 |" in (tmp_path / "out" / "table.md").read_text()


def test_the_winner_is_a_recipe_that_trains_the_same_model_again(planned, tmp_path, monkeypatch, capsys):
    result = sweep(planned({"train.learning_rate": [1e-5, 0.01], "seed": [3]}), tmp_path / "out")
    assert result.configurations[0].settings == {"train.learning_rate": 0.01}
    monkeypatch.chdir(tmp_path)
    words = shlex.split(result.command)
    assert main([*words[1:], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    best = next(run for run in result.runs if run.name == result.best_run)
    assert again["best"]["metrics"] == best.metrics


def test_the_order_of_execution_leaves_no_trace(planned, tmp_path, monkeypatch):
    run = planned({"train.learning_rate": [0.01, 0.001], "seed": [0, 1]})
    sweep(run, tmp_path / "forth")
    monkeypatch.setattr("litebert.commands.sweep.sweep.train_all", backwards)
    sweep(run, tmp_path / "back")
    assert table(tmp_path / "forth") == table(tmp_path / "back")


def backwards(cells, places, **options):
    from litebert.commands.sweep.run_trials import train_all

    for cell in reversed(cells):
        train_all([cell], places, **options)


def test_a_stopped_sweep_goes_on_and_trains_no_finished_run_again(planned, tmp_path):
    run = planned({"seed": [0, 1, 2]}, checkpoint_every="4 steps")
    whole = sweep(run, tmp_path / "whole")
    steps = []

    def stop(event):
        if isinstance(event, StepDone):
            steps.append(event)
            if len(steps) == 40:
                raise StoppedBySignalError("stopped by the test", signal_number=15)

    with pytest.raises(StoppedBySignalError):
        sweep(run, tmp_path / "stopped", listeners=[stop])
    first = tmp_path / "stopped" / "runs" / "seed=0" / "model" / "model.safetensors"
    written = first.stat().st_mtime_ns
    seen = []
    resumed = sweep(run, tmp_path / "stopped", listeners=[seen.append])
    assert first.stat().st_mtime_ns == written
    # Of 30 + 30 steps of the two others 10 were done and 8 of them saved; the first run's steps are not repeated.
    assert sum(isinstance(event, StepDone) for event in seen) == 60 - 8
    assert [each.metrics for each in resumed.runs] == [each.metrics for each in whole.runs]
    assert table(tmp_path / "stopped") == table(tmp_path / "whole")


def test_a_grid_may_grow_and_other_settings_may_not(planned, tmp_path):
    sweep(planned({"seed": [0]}), tmp_path / "out")
    seen = []
    grown = sweep(planned({"seed": [0, 1]}), tmp_path / "out", listeners=[seen.append])
    assert sum(isinstance(event, StepDone) for event in seen) == 30
    assert grown.configurations[0].statistics["accuracy"].runs == 2
    with pytest.raises(ConfigError, match=r"other settings \(base.train.learning_rate\)"):
        sweep(planned({"seed": [0]}, learning_rate=0.5), tmp_path / "out")


def test_a_run_that_fails_stops_no_other_and_is_tried_again(planned, tmp_path):
    run = planned({"max_length": [200, 32], "seed": [0]})
    result = sweep(run, tmp_path / "out")
    assert result.runs[0].state == "failed"
    assert result.runs[1].metrics is not None
    assert "failed: max_length=200,seed=0: max_length: 200 tokens, but the model reads 96" in result.to_text()
    assert result.configurations[-1].runs == ()
    assert sweep(run, tmp_path / "out").runs[0].state == "failed"


def test_a_bug_in_one_run_is_noted_and_stops_no_other(planned, tmp_path, monkeypatch):
    def finetune(run, out, **_):
        raise ZeroDivisionError(f"seed {run.seed}")

    monkeypatch.setattr("litebert.commands.sweep.run_trials.finetune", finetune)
    result = sweep(planned({"seed": [0, 1]}), tmp_path / "out")
    assert [each.reason for each in result.runs] == ["ZeroDivisionError: seed 0", "ZeroDivisionError: seed 1"]
    assert "no run is done" in result.to_text()
    assert (result.selected_by, result.best_run, result.recipe) == (None, None, None)


def test_a_collapsed_run_is_named_and_counts_unless_it_is_restarted(planned, tmp_path, monkeypatch):
    def collapse(best):
        return "predicts 'bad' for every example" if best["metrics"]["accuracy"] == first else None

    monkeypatch.setattr(
        "litebert.commands.sweep.trial_results.get_task_type", lambda name: replace(CLASSIFICATION, collapse=collapse)
    )
    first = None
    plain = sweep(planned({"seed": [0, 1]}), tmp_path / "out")
    first = plain.runs[0].metrics["accuracy"]
    named = sweep(planned({"seed": [0]}), tmp_path / "alone")
    assert "collapsed: seed=0: predicts 'bad' for every example" in named.to_text()
    assert named.configurations[0].runs == ("seed=0",)
    restarted = sweep(planned({"seed": [0]}, restarts=1), tmp_path / "alone")
    assert [each.name for each in restarted.runs] == ["seed=0", "seed=1000"]
    assert "seed=1000 stands in for it" in restarted.to_text()
    assert restarted.configurations[0].runs == ("seed=1000",)


def test_a_diverged_run_is_restarted_but_not_repeated(planned, tmp_path, monkeypatch):
    calls = []

    def finetune(run, out, **options):
        calls.append(run.seed)
        if run.seed == 0:
            raise LitebertError("the loss was not finite")
        return real(run, out, **options)

    from litebert.commands.finetune.finetune import finetune as real

    monkeypatch.setattr("litebert.commands.sweep.run_trials.finetune", finetune)
    result = sweep(planned({"seed": [0]}, restarts=2), tmp_path / "out")
    assert result.runs[0].state == "diverged"
    assert result.runs[1].replaces == "seed=0"
    before = list(calls)
    sweep(planned({"seed": [0]}, restarts=2), tmp_path / "out")
    assert calls == before


def test_equal_medians_are_called_a_tie(planned, tmp_path):
    result = sweep(planned({"train.log_every": [1, 2], "seed": [0]}), tmp_path / "out")
    assert result.tied == 2
    assert result.best_run == "log_every=1,seed=0"
    assert "2 configurations have the best median; the first of them in the grid is taken" in result.to_text()


def test_what_cannot_be_is_refused(planned, tmp_path, monkeypatch):
    run = planned({"seed": [0]})
    with pytest.raises(ConfigError, match="jobs: 0, but at least one"):
        sweep(run, tmp_path / "out", jobs=0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="start it without torchrun"):
        sweep(run, tmp_path / "out")
    monkeypatch.delenv("WORLD_SIZE")
    sweep(run, tmp_path / "out")
    with locked(tmp_path / "out"), pytest.raises(CheckpointError, match="another process is training"):
        sweep(run, tmp_path / "out")
