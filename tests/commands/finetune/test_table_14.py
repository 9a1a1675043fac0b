"""Table 14 of the paper: every recipe of a published task beside the printed figures."""

import pytest

from litebert.commands.finetune.finetune_settings import load_finetune_config, recipe_of_task
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS
from litebert.training.loop.duration import Duration
from litebert.training.optim.lr_schedules import Curve

TABLE_14 = {
    "cola": (1e-5, 16, 0, 0.1, 5336, 320, 512),
    "sts-b": (2e-5, 16, 0, 0.1, 3598, 214, 512),
    "sst-2": (1e-5, 32, 0, 0.1, 20935, 1256, 512),
    "mnli": (3e-5, 128, 0, 0.1, 10000, 1000, 512),
    "qnli": (1e-5, 32, 0, 0.1, 33112, 1986, 512),
    "qqp": (5e-5, 128, 0.1, 0.1, 14000, 1000, 512),
    "rte": (3e-5, 32, 0.1, 0.1, 800, 200, 512),
    "mrpc": (2e-5, 32, 0, 0.1, 800, 200, 512),
    "wnli": (2e-5, 16, 0.1, 0.1, 2000, 250, 512),
    "squad-v1.1": (5e-5, 48, 0, 0.1, 3649, 365, 384),
    "squad-v2.0": (3e-5, 48, 0, 0.1, 8144, 814, 512),
    "race": (2e-5, 32, 0.1, 0.1, 12000, 1000, 512),
}
"""Learning rate, batch size, ALBERT dropout, classifier dropout, training steps, warm-up steps, longest sequence."""
RACE_V2 = (1e-5, 32, 0, 0.1, 12000, 1000, 512)
"""Source: the README of the original, which changes nothing else for version 2 models."""


def figures(recipe):
    run = load_finetune_config(recipe, given={"model": "m", "data": {"train": "t.csv"}})
    assert run.hidden_dropout_prob == run.attention_probs_dropout_prob
    assert (run.train.optimizer, run.train.weight_decay, run.train.schedule) == ("adamw", 0.01, Curve(type="linear_tf"))
    assert run.train.spikes.policy == "none"
    return (
        run.train.learning_rate,
        run.batch_size,
        run.hidden_dropout_prob,
        run.classifier_dropout_prob,
        run.train.duration,
        run.train.warmup,
        run.max_length,
    )


def printed(row):
    rate, batch, dropout, classifier_dropout, steps, warmup, length = row
    lengths = [Duration.parse(f"{number} steps") for number in (steps, warmup)]
    return rate, batch, dropout, classifier_dropout, *lengths, length


@pytest.mark.parametrize("task", TABLE_14)
def test_benchmark_recipe_is_its_row_of_table_14(task):
    assert figures(recipe_of_task(task)) == printed(TABLE_14[task])


def test_race_v2_recipe_has_its_own_learning_rate():
    assert figures("race-v2") == printed(RACE_V2)


@pytest.mark.parametrize("task", [name for name, row in BENCHMARKS.items() if "train" in row.splits])
def test_benchmarks_with_training_data_have_a_row_of_table_14(task):
    assert recipe_of_task(task) in TABLE_14


@pytest.mark.parametrize("task", TABLE_14)
def test_benchmark_recipes_evaluate_5_to_25_times(task):
    run = load_finetune_config(recipe_of_task(task), given={"model": "m", "data": {"train": "t.csv"}})
    assert run.train.evaluate_every is not None
    assert 5 <= run.train.duration.amount / run.train.evaluate_every.amount <= 25


def test_race_levels_use_the_recipe_of_race():
    run = load_finetune_config("race-middle", given={"model": "m", "data": {"task": "race-middle", "directory": "d"}})
    assert run.train.duration == Duration.parse("12000 steps")


def test_spike_detection_in_fine_tuning_is_on_if_its_settings_are_given():
    given = {"model": "m", "data": {"train": "t.csv"}}
    run = load_finetune_config("default", ["train.spikes.sigma_factor=9"], given=given)
    assert (run.train.spikes.policy, run.train.spikes.sigma_factor) == ("rollback", 9)
