"""Fewer layers in the first part of a run: which ones, what a step costs, and the same run after any interruption."""

import json
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.commands.pretrain.dry_run import dry_run
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import provenance
from litebert.commands.pretrain.pretrain_settings import FirstPart, load_pretrain_config
from litebert.commands.pretrain.progressive_layers import FEWER_LAYERS, ProgressiveLayers
from litebert.commands.reproduce.cells import Inputs, pretrain_cell
from litebert.commands.reproduce.plan import _training_flops
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForPretraining
from litebert.model.sharing_schedule import sharing_schedule, stored_blocks, with_fewer_layers
from litebert.training.callbacks.callback import Callback, RunState
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import RunSchedule, TrainingProgress
from support.models.tolerances import tolerance
from support.runs import toy
from support.runs.callbacks import killed_after_saving
from support.runs.pretrain_runs import TOY, losses

FIRST = ((0, 0), (1, 1))
"""The schedule of two layers in two groups."""
LAYERS = ("model.num_hidden_layers=4", "model.num_hidden_groups=2", "progressive_depth.initial_layers=2")


def plan(corpus, *more):
    settings = (*TOY, *LAYERS, "init=random", "train.learning_rate=0.01", "train.checkpoint_every=1 step")
    return load_pretrain_config("quickstart", [*settings, *more], corpus=corpus)


class LayersOfSteps(Callback):
    """The layers that the next step trains, after each step."""

    def __init__(self):
        self.seen = []

    def on_step(self, run, record) -> None:
        self.seen.append(run.model.encoder.training_schedule)


SHAPE = {"hidden_size": 16, "embedding_size": 8, "num_attention_heads": 2, "intermediate_size": 32}


def model_of(layers):
    return ForPretraining(ModelConfig(vocab_size=50, num_hidden_layers=layers, num_hidden_groups=2, **SHAPE), seed=0)


def ids_and_masks():
    ids = torch.arange(10)[None] + 5
    return ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)


@pytest.fixture(scope="module")
def finished(corpus_directory, tmp_path_factory):
    out, layers = tmp_path_factory.mktemp("progressive") / "run", LayersOfSteps()
    pretrain(plan(corpus_directory, "train.log_every=1"), out, callbacks=[layers])
    return out, layers.seen


def test_all_layers_are_trained_after_half_of_the_run(finished):
    assert finished[1] == [FIRST, None, None, None]


def test_flops_of_a_step_are_those_of_the_layers_that_it_trains(finished, corpus_directory, tmp_path):
    all_layers = plan(corpus_directory, "train.log_every=1").replace(progressive_depth=None)
    few_layers = all_layers.replace(model=all_layers.model.replace(num_hidden_layers=2))
    flops = [finished[0]]
    for name, run in (("all", all_layers), ("few", few_layers)):
        pretrain(run, tmp_path / name)
        flops.append(tmp_path / name)
    mixed, whole, few = (flops_of_steps(run) for run in flops)
    assert mixed == pytest.approx([*few[:2], *whole[2:]], rel=tolerance(torch.float64, "compound"))
    assert whole[0] > 1.5 * few[0]


def flops_of_steps(run):
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [each for each in records if "train/flops_per_second" in each]
    return [each["train/flops_per_second"] / each["train/examples_per_second"] for each in steps]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_resumed_run_trains_the_layers_of_an_uninterrupted_one(finished, corpus_directory, tmp_path, step):
    run = plan(corpus_directory, "train.log_every=1")
    killed_after_saving(step, lambda callbacks: pretrain(run, tmp_path / "run", callbacks=callbacks))
    pretrain(run, tmp_path / "run")
    assert losses(tmp_path / "run") == losses(finished[0])
    resumed, uninterrupted = (load_model(out / "model").state_dict() for out in (tmp_path / "run", finished[0]))
    assert all(torch.equal(resumed[name], tensor) for name, tensor in uninterrupted.items())


def test_a_model_that_trains_some_layers_is_the_model_of_these_layers():
    full, small = model_of(4).train(), model_of(2).train()
    small.load_state_dict(full.state_dict())
    full.encoder.training_schedule = FIRST
    inputs = ids_and_masks()
    gradients = []
    for model in (full, small):
        found = model.encoder.at_positions(*inputs, torch.tensor([1, 4])), model.encoder(*inputs).last_hidden_state
        torch.autograd.backward([states[..., 0].sum() for states in found])
        gradients.append({name: each.grad for name, each in model.named_parameters() if each.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    assert {name.split(".")[1] for name in gradients[0]} >= {"embeddings", "attentions", "feed_forwards"}
    for name, gradient in gradients[0].items():
        assert torch.equal(gradient, gradients[1][name]), name


def test_all_layers_run_in_evaluation():
    model = model_of(4).eval()
    inputs = ids_and_masks()
    expected = model.encoder(*inputs).last_hidden_state
    model.encoder.training_schedule = FIRST
    assert torch.equal(model.encoder(*inputs).last_hidden_state, expected)


@pytest.mark.parametrize(
    ("duration", "schedule", "part", "message"),
    [
        ("20 steps", FIRST, FEWER_LAYERS, "from step 10 on 2 of 4 layers are trained"),
        ("60 seconds", None, 0, "from step 10 on 4 of 4 layers are trained"),
    ],
)
def test_a_rollback_has_the_layers_of_its_progress_as_it_has_the_learning_rate(
    tmp_path, caplog, duration, schedule, part, message
):
    """The time of a run does not go back: steps of the first part are not made up for with the time of the second."""
    caplog.set_level("INFO", "litebert")
    model, checkpoint = model_of(4), TrainingProgress(step=9, seconds=29.0)
    timing = RunSchedule.of(toy.settings(duration=duration), toy.ToyBatches())
    run = RunState(model, tmp_path, DistributedContext.current("cpu"), timing, progress=checkpoint)
    callback = ProgressiveLayers(model.encoder, FirstPart(model.encoder.config.replace(num_hidden_layers=2), 0.5))
    callback.on_train_begin(run)
    assert (model.encoder.training_schedule, run.part) == (FIRST, FEWER_LAYERS)
    run.progress = TrainingProgress(step=12, seconds=31.0).rolled_back_to(checkpoint)
    callback.on_rollback(run)
    assert (model.encoder.training_schedule, run.part) == (schedule, part)
    assert message in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["progressive_depth.initial_layers=5"], "expected at most the 4 layers of the model; found 5"),
        (["progressive_depth.initial_layers=1"], "expected at least 2, one for each group of layers .*; found 1"),
        (["model.num_hidden_groups=4"], "expected at least 4, one for each group"),
        (["model.sharing=attention", "model.num_hidden_groups=1"], "expected model.sharing=all and no"),
        (["model.sharing=none", "model.num_hidden_groups=1"], "expected model.sharing=all and no"),
        (["model.recursion_lora_rank=2"], "no model.recursion_lora_rank, or leave progressive_depth out"),
        (["progressive_depth.fraction=1"], "progressive_depth.fraction"),
    ],
)
def test_layers_that_would_leave_weights_untrained_are_refused(corpus_directory, settings, message):
    with pytest.raises(ConfigError, match=message):
        plan(corpus_directory, *settings)


def test_as_many_layers_as_the_model_has_are_trained_from_the_first_step(corpus_directory):
    run = plan(corpus_directory, "progressive_depth.initial_layers=4")
    assert run.first_part is None
    assert provenance(run).keys() == provenance(run.replace(progressive_depth=None)).keys()


def test_the_model_card_says_how_many_layers_were_trained_at_first(finished):
    assert "| layers at first | 2, for 50% of the run |" in (finished[0] / "model" / "README.md").read_text()


@given(st.integers(1, 24), st.integers(1, 24), st.integers(1, 24), st.integers(1, 2))
def test_fewer_layers_have_all_weights_that_the_model_stores(groups, layers, few, inner):
    groups, few, layers = sorted([groups, few, layers])
    config = ModelConfig(num_hidden_layers=layers, num_hidden_groups=groups, inner_group_num=inner, **SHAPE)
    first = with_fewer_layers(config, few)
    assert stored_blocks(first) == stored_blocks(config)
    assert {*sharing_schedule(first)} == {*sharing_schedule(config)}


def test_the_plan_of_a_reproduction_counts_the_first_part(corpus_directory):
    progressive, whole = (
        _training_flops(plan(corpus_directory, f"progressive_depth.initial_layers={layers}")) for layers in (2, 4)
    )
    assert 0.5 * whole < progressive < 0.95 * whole


def test_runs_of_a_grid_without_it_have_the_names_of_before(corpus_directory):
    scale, inputs = SimpleNamespace(settings={}, recipe="quickstart"), Inputs(corpus=corpus_directory)
    progressive = {"model.num_hidden_layers": 2, "progressive_depth.initial_layers": 1}
    identities = [pretrain_cell(scale, inputs, settings, 0).identity for settings in ({}, progressive)]
    assert ["progressive_depth" in identity for identity in identities] == [False, True]


def test_a_dry_run_counts_the_steps_with_fewer_layers(corpus_directory, tmp_path):
    report = dry_run(plan(corpus_directory, "train.duration=100 steps"), tmp_path / "run")
    assert 50 * report.step_seconds < report.seconds < 95 * report.step_seconds
    timed = dry_run(plan(corpus_directory, "train.duration=60 seconds"), tmp_path / "run")
    assert 1.05 < timed.steps * timed.step_seconds / 60 < 2
