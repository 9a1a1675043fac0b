"""From a grid to named runs."""

import pytest

from litebert.commands.sweep.sweep_settings import load_sweep_config
from litebert.commands.sweep.trials import RESTART_STEP, restarted, trial_of, trials_of
from litebert.errors import ConfigError


def planned(*grid, **data):
    return load_sweep_config("default", given={"model": "m", "data": {"train": "t.csv", **data}}, grid=grid)


def test_every_combination_is_a_run_named_by_its_values():
    cells = trials_of(planned("train.learning_rate=1e-5,0.00002", "seed=0..1"))
    assert [cell.name for cell in cells] == [
        "learning_rate=1e-05,seed=0",
        "learning_rate=1e-05,seed=1",
        "learning_rate=2e-05,seed=0",
        "learning_rate=2e-05,seed=1",
    ]
    assert cells[3].run.train.learning_rate == 0.00002


def test_a_seed_is_that_of_head_order_and_dropout():
    (cell,) = trials_of(planned("seed=7"))
    assert (cell.run.seed, cell.run.train.seed) == (7, 7)
    both = trials_of(planned("seed=7", "train.seed=1,2"))
    assert [(cell.run.seed, cell.run.train.seed) for cell in both] == [(7, 1), (7, 2)]
    assert both[0].name == "seed=7,train.seed=1"


def test_names_do_not_depend_on_the_rest_of_the_grid():
    small, large = trials_of(planned("seed=1")), trials_of(planned("seed=0..2"))
    assert small[0] == large[1]


def test_values_that_are_no_file_names_get_names_that_differ():
    names = [cell.name for cell in trials_of(planned("model=a/b,a:b,../c"))]
    assert len(set(names)) == 3
    assert not any("/" in name for name in names)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (["train.learning_rate=1e-5,0.00001"], "holds learning_rate=1e-05 twice"),
        (["batchsize=1"], "unknown setting 'batchsize'; did you mean 'batch_size'"),
        (["batch_size=0"], "batch_size: Input should be greater than 0"),
        (["data.dev.seed=0,1"], "scored on different rows"),
        (["metrics=[accuracy],[matthews]"], "by different metrics"),
        (["data.train=a.csv,b.csv"], "scored on different rows"),
    ],
)
def test_a_grid_that_cannot_be_compared_is_refused(grid, message):
    with pytest.raises(ConfigError, match=message):
        trials_of(planned(*grid))


def test_training_files_can_be_compared_on_a_development_file():
    assert len(trials_of(planned("data.train=a.csv,b.csv", dev="dev.csv"))) == 2


def test_a_stand_in_takes_the_next_free_seed():
    sweep = planned("batch_size=16", f"seed=0,{RESTART_STEP}")
    cells = trials_of(sweep)
    found = restarted(sweep.base, cells[0], taken=[cell.name for cell in cells])
    assert (found.run.seed, found.replaces) == (2 * RESTART_STEP, "batch_size=16,seed=0")
    without = restarted(sweep.base, trial_of(sweep.base, {"batch_size": 8}), taken=[])
    assert without.name == f"batch_size=8,seed={RESTART_STEP}"
