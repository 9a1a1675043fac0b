"""From a grid to named trials."""

import pytest

from litebert.commands.sweep.sweep_settings import (
    REPLACEMENT_SEED_STEP,
    load_sweep_config,
    replacement,
    trial_of,
    trials_of,
)
from litebert.errors import ConfigError


def planned(*grid, **data):
    return load_sweep_config("default", given={"model": "m", "data": {"train": "t.csv", **data}}, grid=grid)


def test_sweep_has_a_trial_for_every_combination_of_the_grid_named_by_its_values():
    trials = trials_of(planned("train.learning_rate=1e-5,0.00002", "seed=0..1"))
    assert [trial.name for trial in trials] == [
        "learning_rate=1e-05,seed=0",
        "learning_rate=1e-05,seed=1",
        "learning_rate=2e-05,seed=0",
        "learning_rate=2e-05,seed=1",
    ]
    assert trials[3].run.train.learning_rate == 0.00002


def test_trial_names_do_not_depend_on_the_rest_of_the_grid():
    small, large = trials_of(planned("seed=1")), trials_of(planned("seed=0..2"))
    assert small[0] == large[1]


def test_trial_names_are_distinct_file_names():
    names = [trial.name for trial in trials_of(planned("model=a/b,a:b,../c"))]
    assert len(set(names)) == 3
    assert not any("/" in name for name in names)


@pytest.mark.parametrize("value", ["a", "ä"])
def test_names_of_trials_with_many_axes_fit_into_a_file_name(value):
    axes = [f"{name}={value * 30}" for name in ("card.license", "card.intended_uses", "tokenizer")]
    axes += ["attention_probs_dropout_prob=0.1", "hidden_dropout_prob=0.1", "train.learning_rate=1e-5", "seed=0..1"]
    names = [trial.name for trial in trials_of(planned(*axes))]
    assert len(set(names)) == 2
    assert all(len(name.encode()) < 200 for name in names)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (["train.learning_rate=1e-5,0.00001"], "learning_rate=1e-05 occurs twice"),
        (["batchsize=1"], "unknown setting 'batchsize'; did you mean 'batch_size'"),
        (["batch_size=0"], "batch_size: must be greater than 0"),
        (["data.dev.seed=0,1"], "evaluated on different examples"),
        (["metrics=[accuracy],[matthews]"], "by different metrics"),
        (["data.train=a.csv,b.csv"], "evaluated on different examples"),
    ],
)
def test_grid_of_incomparable_trials_is_rejected(grid, message):
    with pytest.raises(ConfigError, match=message):
        trials_of(planned(*grid))


def test_grid_over_training_files_needs_a_development_file():
    assert len(trials_of(planned("data.train=a.csv,b.csv", dev="dev.csv"))) == 2


def test_replacement_has_the_next_free_seed():
    sweep = planned("batch_size=16", f"seed=0,{REPLACEMENT_SEED_STEP}")
    trials = trials_of(sweep)
    found = replacement(sweep.base, trials[0], taken=[trial.name for trial in trials])
    assert (found.run.seed, found.replaces) == (2 * REPLACEMENT_SEED_STEP, "batch_size=16,seed=0")
    without = replacement(sweep.base, trial_of(sweep.base, {"batch_size": 8}), taken=[])
    assert without.name == f"batch_size=8,seed={REPLACEMENT_SEED_STEP}"
