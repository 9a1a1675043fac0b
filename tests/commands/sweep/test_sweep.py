"""Sweeps end to end: compared, resumed, with trials that fail and trials that collapse."""

import json
import shlex
from dataclasses import replace

import pytest

from litebert.cli.main import main
from litebert.commands.sweep.sweep import sweep
from litebert.errors import CheckpointError, ConfigError, DataError, DivergedError, StoppedBySignalError
from litebert.settings import read_yaml
from litebert.tasks.types.classification.classification import CLASSIFICATION
from litebert.training.checkpointing.checkpoint import locked_directory
from support.runs.callbacks import HookRecorder
from support.runs.sweeps import table


def test_sweep_trains_and_summarises_several_seeds(planned, tmp_path):
    result = sweep(planned({"seed": [0, 1, 2]}), tmp_path / "out")
    (row,) = result.configurations
    scores = sorted(run.metrics["accuracy"] for run in result.trials)
    assert (row.statistics["accuracy"].median, row.statistics["accuracy"].best) == (scores[1], scores[2])
    assert "(all seeds)" in result.to_text()
    assert "development examples, so its score there is too optimistic" in result.to_text()
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["best_trial"] == result.best_trial
    assert "| (all seeds) | 3 |" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("forked_python")
def test_trials_that_leave_their_precision_open_have_the_same_one(planned, tmp_path, monkeypatch, jobs):
    found = iter(("bf16", "fp32", "fp32", "fp32", "fp32"))
    monkeypatch.setattr("litebert.model.matmul_speed.fastest_precision", lambda config, device, use: next(found))
    out = tmp_path / "out"
    sweep(planned({"seed": [0, 1]}, precision="auto"), out, jobs=jobs)
    sweep(planned({"seed": [0, 1, 2]}, precision="auto"), out, jobs=jobs)
    precisions = {
        each.name: read_yaml(each / "settings.yaml")["train"]["precision"] for each in (out / "runs").iterdir()
    }
    assert precisions == {f"seed={seed}": "bf16" for seed in range(3)}
    assert read_yaml(out / "best.yaml")["train"]["precision"] == "bf16"
    sweep(planned({"train.precision": ["auto", "fp32"], "seed": [0]}), tmp_path / "grid")
    assert json.loads((tmp_path / "grid" / "precision.json").read_text()) == {"precision": "fp32"}


def test_model_that_cannot_be_read_fails_its_own_trial(planned, tmp_path, pretrained):
    grid = {"model": [str(tmp_path / "absent"), str(pretrained)]}
    result = sweep(planned(grid, precision="auto"), tmp_path / "out")
    assert result.trials[0].state == "failed"
    assert result.trials[1].metrics


def test_best_trial_is_a_recipe_that_trains_the_same_model_again(planned, tmp_path, monkeypatch, capsys):
    result = sweep(planned({"train.learning_rate": [1e-5, 0.01], "seed": [3]}, duration="30 steps"), tmp_path / "out")
    assert result.configurations[0].settings == {"train.learning_rate": 0.01}
    monkeypatch.chdir(tmp_path)
    words = shlex.split(result.command)
    assert main([*words[1:], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    best = next(trial for trial in result.trials if trial.name == result.best_trial)
    assert again["best"]["metrics"] == best.metrics


def test_sweep_does_not_depend_on_the_order_of_execution(planned, tmp_path, monkeypatch):
    run = planned({"train.learning_rate": [0.01, 0.001], "seed": [0, 1]})
    sweep(run, tmp_path / "forth")
    monkeypatch.setattr("litebert.commands.sweep.sweep.train_all", backwards)
    sweep(run, tmp_path / "back")
    assert table(tmp_path / "forth") == table(tmp_path / "back")


def steps_of(recorder):
    return sum(hook == "step" for hook, _ in recorder.calls)


def backwards(trials, paths, **options):
    from litebert.commands.sweep.run_trials import train_all

    for trial in reversed(trials):
        train_all([trial], paths, **options)


def test_stopped_sweep_resumes_without_training_finished_trials(planned, tmp_path):
    run = planned({"seed": [0, 1, 2]}, checkpoint_every="2 steps")
    whole = sweep(run, tmp_path / "whole")

    class Stop(HookRecorder):
        def on_step(self, run, record):
            super().on_step(run, record)
            if steps_of(self) == 9:
                raise StoppedBySignalError("stopped by the test", signal_number=15)

    with pytest.raises(StoppedBySignalError):
        sweep(run, tmp_path / "stopped", callbacks=[Stop()])
    first = tmp_path / "stopped" / "runs" / "seed=0" / "model" / "model.safetensors"
    written = first.stat().st_mtime_ns
    seen = HookRecorder()
    resumed = sweep(run, tmp_path / "stopped", callbacks=[seen])
    assert first.stat().st_mtime_ns == written
    # Of 6 + 6 steps of the two others 3 were done and 2 of them saved; the first run's steps are not repeated.
    assert steps_of(seen) == 12 - 2
    assert [each.metrics for each in resumed.trials] == [each.metrics for each in whole.trials]
    assert table(tmp_path / "stopped") == table(tmp_path / "whole")


def test_sweep_grid_may_grow_and_other_settings_may_not_change(planned, tmp_path):
    sweep(planned({"seed": [0]}), tmp_path / "out")
    seen = HookRecorder()
    grown = sweep(planned({"seed": [0, 1]}), tmp_path / "out", callbacks=[seen])
    assert steps_of(seen) == 6
    assert grown.configurations[0].statistics["accuracy"].trials == 2
    with pytest.raises(ConfigError, match=r"other settings \(base.train.learning_rate\)"):
        sweep(planned({"seed": [0]}, learning_rate=0.5), tmp_path / "out")


def test_settings_on_which_no_result_depends_may_differ_when_a_sweep_resumes(planned, tmp_path):
    first = sweep(planned({"seed": [0]}), tmp_path / "out")
    run = planned({"seed": [0]})
    smaller = run.base.replace(microbatch_size=run.base.microbatch_size // 2)
    again = sweep(run.replace(base=smaller), tmp_path / "out")
    assert [each.metrics for each in again.trials] == [each.metrics for each in first.trials]


def test_a_wrong_column_leaves_no_sweep(planned, tmp_path):
    run = planned({"seed": [0]})
    wrong = run.base.replace(data=run.base.data.replace(label="nope"))
    with pytest.raises(DataError, match="no column 'nope'"):
        sweep(run.replace(base=wrong), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    other = tmp_path / "other.csv"
    other.write_text("text\na film\n")
    several = planned({"data.train": [str(tmp_path / "train.csv"), str(other)]})
    dev = several.base.data.replace(dev=tmp_path / "train.csv")
    with pytest.raises(DataError, match=r"other\.csv: no column 'label'"):
        sweep(several.replace(base=several.base.replace(data=dev)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert sweep(run, tmp_path / "out").trials[0].metrics


def test_another_card_is_refused_since_finished_trials_keep_theirs(planned, tmp_path):
    run = planned({"seed": [0]})
    sweep(run, tmp_path / "out")
    card = run.base.card.replace(license="mit")
    with pytest.raises(ConfigError, match=r"other settings \(base.card.license\)"):
        sweep(run.replace(base=run.base.replace(card=card)), tmp_path / "out")


@pytest.mark.parametrize(("max_length", "code"), [("200", 1), ("200,32", 0)])
def test_the_command_fails_if_no_trial_is_finished(planned, pretrained, tmp_path, capsys, max_length, code):
    planned({"seed": [0]})
    quick = ["train.duration=2 steps", "train.device=cpu", "train.precision=fp32"]
    files = ["--model", str(pretrained), "--train", str(tmp_path / "train.csv"), "--out", str(tmp_path / "out")]
    assert main(["sweep", "default", *files, "--grid", f"max_length={max_length}", *quick]) == code
    assert ("no trial is finished" in capsys.readouterr().out) == bool(code)


def test_sweep_whose_rows_have_changed_does_not_grow(planned, tmp_path):
    sweep(planned({"seed": [0]}), tmp_path / "out")
    grown, file = planned({"seed": [0, 1]}), tmp_path / "train.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:-2]) + "\n")
    with pytest.raises(CheckpointError, match="its rows are not those that the finished run in"):
        sweep(grown, tmp_path / "out")


def test_failed_trial_stops_no_other_and_is_trained_again(planned, tmp_path):
    run = planned({"max_length": [200, 32], "seed": [0]})
    result = sweep(run, tmp_path / "out")
    assert result.trials[0].state == "failed"
    assert result.trials[1].metrics is not None
    assert "failed: max_length=200,seed=0: max_length: 200 tokens, but the model reads 96" in result.to_text()
    assert result.configurations[-1].trials == ()
    assert sweep(run, tmp_path / "out").trials[0].state == "failed"


def test_unexpected_error_in_a_trial_is_recorded_and_stops_no_other(planned, tmp_path, monkeypatch):
    def finetune(run, out, **_):
        raise ZeroDivisionError(f"seed {run.seed}")

    monkeypatch.setattr("litebert.commands.finetune_worker.finetune", finetune)
    result = sweep(planned({"seed": [0, 1]}), tmp_path / "out")
    assert [each.reason for each in result.trials] == ["ZeroDivisionError: seed 0", "ZeroDivisionError: seed 1"]
    assert "no trial is finished" in result.to_text()
    assert (result.metric_for_best_model, result.best_trial, result.recipe) == (None, None, None)


def test_collapsed_trial_is_named_and_counts_unless_it_is_replaced(planned, tmp_path, monkeypatch):
    def collapse(best):
        return "predicts 'bad' for every example" if best.metrics["accuracy"] == first else None

    monkeypatch.setattr(
        "litebert.commands.sweep.trial_results.get_task_type", lambda name: replace(CLASSIFICATION, collapse=collapse)
    )
    first = None
    plain = sweep(planned({"seed": [0, 1]}, duration="30 steps"), tmp_path / "out")
    first = plain.trials[0].metrics["accuracy"]
    named = sweep(planned({"seed": [0]}, duration="30 steps"), tmp_path / "alone")
    assert "collapsed: seed=0: predicts 'bad' for every example" in named.to_text()
    assert named.configurations[0].trials == ("seed=0",)
    restarted = sweep(planned({"seed": [0]}, retry_collapsed=1, duration="30 steps"), tmp_path / "alone")
    assert [each.name for each in restarted.trials] == ["seed=0", "seed=1000"]
    assert "replaced by seed=1000" in restarted.to_text()
    assert restarted.configurations[0].trials == ("seed=1000",)


def test_diverged_trial_is_replaced_but_not_repeated(planned, tmp_path, monkeypatch):
    calls = []

    def finetune(run, out, **options):
        calls.append(run.seed)
        if run.seed == 0:
            raise DivergedError("the loss was not finite")
        return real(run, out, **options)

    from litebert.commands.finetune.finetune import finetune as real

    monkeypatch.setattr("litebert.commands.finetune_worker.finetune", finetune)
    result = sweep(planned({"seed": [0]}, retry_collapsed=2), tmp_path / "out")
    assert result.trials[0].state == "diverged"
    assert result.trials[1].replaces == "seed=0"
    before = list(calls)
    sweep(planned({"seed": [0]}, retry_collapsed=2), tmp_path / "out")
    assert calls == before


def test_sweep_reports_a_tie_of_equal_medians(planned, tmp_path):
    result = sweep(planned({"train.log_every": [1, 2], "seed": [0]}), tmp_path / "out")
    assert result.tied == 2
    assert result.best_trial == "log_every=1,seed=0"
    assert "2 configurations have the best median; the first of them in the grid is chosen" in result.to_text()


def test_sweep_rejects_wrong_jobs_torchrun_and_a_locked_directory(planned, tmp_path, monkeypatch):
    run = planned({"seed": [0]})
    with pytest.raises(ConfigError, match=r"jobs: expected 1 to \d+, 32 for each core, found 0"):
        sweep(run, tmp_path / "out", jobs=0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="run it without torchrun"):
        sweep(run, tmp_path / "out")
    monkeypatch.delenv("WORLD_SIZE")
    sweep(run, tmp_path / "out")
    with locked_directory(tmp_path / "out"), pytest.raises(CheckpointError, match="another process is at work"):
        sweep(run, tmp_path / "out")
