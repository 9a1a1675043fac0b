"""Grids as they are written."""

import pytest

from litebert.commands.sweep.sweep_settings import SweepRun, load_sweep_config, parse_grid
from litebert.errors import ConfigError

GIVEN = {"model": "m", "data": {"train": "t.csv"}}


def test_values_are_written_as_in_a_recipe():
    words = ["batch_size=16,32", "seed=0..3,7", "train.duration=2 epochs,5 epochs", "train.exclude=[norm],[norm, bias]"]
    assert parse_grid(words) == {
        "batch_size": [16, 32],
        "seed": [0, 1, 2, 3, 7],
        "train.duration": ["2 epochs", "5 epochs"],
        "train.exclude": [["norm"], ["norm", "bias"]],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seed"], "expected setting=value,value"),
        (["=1"], "expected setting=value,value"),
        (["seed=0", "seed=1"], "each setting once"),
        (["seed=4..0"], "'4..0': a range goes up"),
        (["seed=0..99999999"], "by less than 10,000"),
        (["train.exclude=[a"], "not a list with commas"),
    ],
)
def test_what_is_no_grid_is_refused(words, message):
    with pytest.raises(ConfigError, match=message):
        parse_grid(words)


def test_several_seeds_are_short_for_a_grid():
    assert load_sweep_config("default", given=GIVEN, seeds=3, restarts=1).grid == {"seed": (0, 1, 2)}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "nothing to compare; give --seeds 5"),
        ({"seeds": 0}, "give a number from 1"),
        ({"seeds": 2, "grid": ["seed=0..4"]}, "or the seeds themselves"),
        ({"grid": ["seed="]}, "seed: has no values"),
        ({"seeds": 2, "restarts": -1}, "restarts: .*greater than or equal to 0"),
    ],
)
def test_what_compares_nothing_is_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        load_sweep_config("default", given=GIVEN, **values)


def test_settings_are_read_back_as_they_were_written():
    run = load_sweep_config("default", given=GIVEN, grid=["train.learning_rate=1e-5,2e-5", "seed=0..1"])
    assert SweepRun.parse(run.to_dict(), where="test") == run
