"""The price of fine-tuning in epochs, which needs the number of training rows."""

import pytest
import yaml

from litebert.commands.pretrain.pretraining_cost import mean_flops_per_token
from litebert.commands.reproduce.plan import _of_duration
from litebert.commands.reproduce.reproduce import plan_tables
from litebert.commands.reproduce.reproduce_settings import ReproduceRun
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.model.model_stats import flops_per_token
from litebert.model.presets import preset
from litebert.training.loop.duration import Duration
from support.data.benchmark_files import write_cola, write_race


def cost(duration, rows=0):
    return _of_duration(Duration.parse(duration), 8, 64, 2.0, rows=rows)


def test_epochs_cost_as_many_operations_as_their_examples():
    assert cost("3 epochs", rows=100) == cost("300 examples") == (300 * 64 * 2.0, 0.0)
    assert cost("10 steps") == (10 * 8 * 64 * 2.0, 0.0)
    assert cost("1 minutes") == (0.0, 60.0)


def test_causal_steps_cost_the_prediction_of_every_token():
    config = preset("tiny")
    masked, every = (flops_per_token(config, length=64, predicted=share).training for share in (0.15, 1.0))
    sampling = SamplingSettings(max_length=64, mlm_probability="0.3 to 0.15 in 10 steps", causal_fraction=0.25)
    assert mean_flops_per_token(config, sampling) == pytest.approx(0.75 * masked + 0.25 * every)
    assert every > masked


def test_questions_of_race_cost_as_much_as_their_options(corpus_directory, tmp_path):
    write_race(tmp_path)
    write_cola(tmp_path)

    def flops(task):
        scale = tmp_path / f"{task}.yaml"
        content = {
            "about": "",
            "recipe": "tiny",
            "settings": {"train.duration": "1 minutes"},
            "models": {"albert-base": {}},
            "tasks": {task: {"train.duration": "2 steps", "max_length": 32, "batch_size": 4, "microbatch_size": 4}},
        }
        scale.write_text(yaml.safe_dump(content))
        table = tmp_path / "one.yaml"
        table.write_text("title: t\nrows: [{name: a, model: albert-base}]\n")
        run = ReproduceRun(tables=(str(table),), scale=str(scale), corpus=corpus_directory, data=(tmp_path,))
        return plan_tables(run, tmp_path / "out").flops

    assert flops("race") == pytest.approx(4 * flops("cola"))
