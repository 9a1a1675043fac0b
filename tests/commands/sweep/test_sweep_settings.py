"""Sweep settings and the syntax of grids."""

import pytest

from litebert.commands.finetune import finetune_settings
from litebert.commands.sweep.sweep_settings import SweepRun, load_sweep_config, parse_grid, trials_of
from litebert.errors import ConfigError

GIVEN = {"model": "m", "data": {"train": "t.csv"}}


def test_grid_values_are_yaml_and_ranges():
    words = [
        "batch_size=16,32",
        "seed=0..3,7",
        "train.duration=2 epochs,5 epochs",
        "train.exclude_from_weight_decay=[norm],[norm, bias]",
    ]
    assert parse_grid(words) == {
        "batch_size": [16, 32],
        "seed": [0, 1, 2, 3, 7],
        "train.duration": ["2 epochs", "5 epochs"],
        "train.exclude_from_weight_decay": [["norm"], ["norm", "bias"]],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seed"], "expected setting=value,value"),
        (["=1"], "expected setting=value,value"),
        (["seed=0", "seed=1"], "each setting once"),
        (["seed=4..0"], "'4..0': expected an ascending range"),
        (["seed=0..99999999"], "at most 10,000 values"),
        (["train.exclude_from_weight_decay=[a"], "not a comma-separated list"),
    ],
)
def test_wrong_grid_is_rejected(words, message):
    with pytest.raises(ConfigError, match=message):
        parse_grid(words)


def test_seeds_are_short_for_a_grid():
    assert load_sweep_config("default", given=GIVEN, seeds=3, retry_collapsed=1).grid == {"seed": (0, 1, 2)}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "nothing to compare; give --seeds 5"),
        ({"seeds": 0}, "give a number from 1"),
        ({"seeds": 2, "grid": ["seed=0..4"]}, "or the seeds as --grid"),
        ({"grid": ["seed="]}, "seed: the value is empty"),
        ({"seeds": 2, "retry_collapsed": -1}, "retry_collapsed: .*greater than or equal to 0"),
    ],
)
def test_sweep_without_a_valid_grid_is_rejected(values, message):
    with pytest.raises(ConfigError, match=message):
        load_sweep_config("default", given=GIVEN, **values)


def test_setting_of_a_grid_needs_a_value():
    base = load_sweep_config("default", given=GIVEN, seeds=1).base
    with pytest.raises(ConfigError, match="seed: needs at least one value"):
        SweepRun(base=base, grid={"seed": ()})


def test_sweep_settings_round_trip():
    run = load_sweep_config("default", given=GIVEN, grid=["train.learning_rate=1e-5,2e-5", "seed=0..1"])
    assert SweepRun.parse(run.to_dict(), where="test") == run


def test_models_of_two_sizes_with_the_settings_of_one_are_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(finetune_settings, "hidden_size_of", {"small": 128, "large": 768}.get)
    monkeypatch.setattr(finetune_settings, "num_training_rows", lambda data: 1000)
    given = {**GIVEN, "model": "small"}
    load_sweep_config("default", given=given, grid=["model=small,large"])
    (message,) = caplog.messages
    assert message.startswith("grid: large by itself would have ")
    assert "train.learning_rate=" in message
    assert "every trial has the settings for small" in message
    load_sweep_config("default", given=given, grid=["model=small", "seed=0..1"])
    names = ("train.learning_rate", "train.duration", "batch_size", "hidden_dropout_prob", "classifier_dropout_prob")
    values = ("1e-5", "3 epochs", "16", "0", "0")
    axes = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    load_sweep_config("default", given=given, grid=["model=small,large", *axes])
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("grid", "optimizer"),
    [
        ("seed=0..1", "muon"),
        ("train.duration=1 steps,2 steps", "muon"),
        ("freeze=null,encoder", "adamw"),
        ("adapters.rank=4,8", "adamw"),
        ("keep_head=true,false", "adamw"),
        ("train.learning_rate=0.001,0.002", "adamw"),
    ],
)
def test_trials_have_muon_unless_the_grid_decides_the_optimizer(grid, optimizer, monkeypatch):
    monkeypatch.setattr(finetune_settings, "hidden_size_of", lambda model: 128)
    monkeypatch.setattr(finetune_settings, "is_small_encoder", lambda model: True)
    monkeypatch.setattr(finetune_settings, "num_training_rows", lambda data: 1000)
    base = load_sweep_config("default", given={**GIVEN, "model": "small"}, grid=[grid]).base
    assert base.train.optimizer == optimizer


@pytest.mark.parametrize(("optimizers", "rate"), [("adamw,muon", 0.002), ("adamw,lamb", 0.02)])
def test_trials_of_a_grid_over_the_optimizer_have_the_duration_of_adamw(optimizers, rate, monkeypatch):
    monkeypatch.setattr(finetune_settings, "hidden_size_of", lambda model: 128)
    monkeypatch.setattr(finetune_settings, "is_small_encoder", lambda model: True)
    monkeypatch.setattr(finetune_settings, "num_training_rows", lambda data: 1000)
    sweep = load_sweep_config("default", given={**GIVEN, "model": "small"}, grid=[f"train.optimizer={optimizers}"])
    trials = [trial.run.train for trial in trials_of(sweep)]
    assert [each.optimizer for each in trials] == optimizers.split(",")
    assert {(each.muon_learning_rate, str(each.duration)) for each in trials} == {(rate, "20 epochs")}


@pytest.mark.parametrize(
    ("override", "given", "by"),
    [
        ("seed=5", {"grid": ["batch_size=16,32"], "seeds": 3}, "--seeds"),
        ("train.learning_rate=0.5", {"grid": ["train.learning_rate=0.001,0.002"]}, "--grid"),
    ],
)
def test_setting_that_the_grid_decides_is_refused(override, given, by):
    with pytest.raises(ConfigError, match=f"{override.partition('=')[0]} is decided by {by}; remove it"):
        load_sweep_config("default", [override], given=GIVEN, **given)
