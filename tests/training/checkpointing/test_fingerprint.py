"""What makes two runs different, by name; what a version adds to the settings does not."""

from pathlib import Path

import pytest
from pydantic import Field
from torch import nn

from litebert.errors import CheckpointError
from litebert.files import write_json, write_manifest
from litebert.settings import Settings
from litebert.training.checkpointing.checkpoint import read_state
from litebert.training.checkpointing.fingerprint import Fingerprint, parameters_digest
from support.toy import ToyBatches, ToyModel, losses, settings, train


class Model(Settings):
    layers: int
    """How many."""
    width: int = Field(default=8)
    """How wide."""


def fingerprint(model: Model | None = None, **changes) -> Fingerprint:
    others = {"model": model or Model(layers=2), "corpus": "c"}
    return Fingerprint.of(ToyModel(), ToyBatches(), settings(**changes), others)


def refuse(saved, now: Fingerprint, *, allowed=()) -> None:
    now.validate_unchanged(saved, where=Path("run"), allowed=allowed)


def without(values, *names):
    """As a version kept them that did not know these settings, nor those below them."""
    return {key: value for key, value in values.items() if not f"{key}.".startswith(tuple(f"{n}." for n in names))}


def test_it_holds_all_that_the_numbers_depend_on_under_dotted_names():
    values = fingerprint().values
    assert values["train.spikes.window"] == 128
    assert (values["model.layers"], values["corpus"], values["batches"], values["batch_size"]) == (2, "c", "toy", 8)
    assert "train.log_every" not in values


def test_the_digest_changes_with_names_and_shapes():
    models = [nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(2, 3, bias=False), nn.Sequential(nn.Linear(2, 3))]
    assert len({parameters_digest(model) for model in models}) == 4
    assert parameters_digest(models[0]) == parameters_digest(nn.Linear(2, 3))


@pytest.mark.parametrize(
    ("saved", "now", "change"),
    [({"a": 1}, {"a": 2}, "a was 1, is 2"), ({"a": 1}, {}, "a was 1, is None"), ({}, {"a": 1}, "a was None, is 1")],
)
def test_a_changed_a_lost_and_a_new_field_are_named(saved, now, change):
    with pytest.raises(CheckpointError, match=change):
        refuse(saved, Fingerprint(now, {}))
    refuse(saved, Fingerprint(now, {}), allowed=("a",))


NEW = ["train.max_grad_norm", "train.spikes.window", "train.spikes", "train.schedule", "train.betas", "model.width"]


@pytest.mark.parametrize("name", NEW)
def test_a_setting_that_was_not_there_yet_may_have_its_default(name):
    now = fingerprint()
    older = without(now.values, name)
    assert older != now.values
    refuse(older, now)


@pytest.mark.parametrize(
    ("name", "changes", "change"),
    [
        ("train.max_grad_norm", {"max_grad_norm": 0.5}, "train.max_grad_norm was 1.0, is 0.5"),
        ("train.max_grad_norm", {"max_grad_norm": None}, "train.max_grad_norm was 1.0, is None"),
        ("train.spikes.window", {"spikes": {"window": 64}}, "train.spikes.window was 128, is 64"),
        ("train.spikes", {"spikes": {"sigma_factor": 9.0}}, "train.spikes.sigma_factor was 6.0, is 9.0"),
        ("train.schedule", {"schedule": "constant"}, "train.schedule.shape was 'linear', is 'constant'"),
        ("model.width", {"model": Model(layers=2, width=9)}, "model.width was 8, is 9"),
        ("model.layers", {}, "model.layers was None, is 2"),
        ("corpus", {}, "corpus was None, is 'c'"),
    ],
)
def test_another_value_of_it_or_one_without_a_default_is_refused(name, changes, change):
    now = fingerprint(**changes)
    with pytest.raises(CheckpointError) as refused:
        refuse(without(now.values, name), now)
    assert f"saved by another run: {change}. Restore" in str(refused.value)


def test_a_run_begun_before_a_setting_existed_goes_on(tmp_path):
    train(tmp_path / "whole", duration="4 steps", schedule="constant")
    steps = {"schedule": "constant", "allow_config_changes": ["train.duration"]}
    train(tmp_path / "older", **steps, duration="2 steps")
    checkpoint = tmp_path / "older" / "checkpoints" / "step-00000002"
    state = read_state(checkpoint)
    state["fingerprint"] = without(state["fingerprint"], "train.max_grad_norm", "train.spikes")
    write_json(checkpoint / "trainer_state.json", state)
    write_manifest(checkpoint)
    with pytest.raises(CheckpointError, match=r"train.max_grad_norm was 1.0, is 0.5. Restore"):
        train(tmp_path / "older", **steps, duration="4 steps", max_grad_norm=0.5)
    train(tmp_path / "older", **steps, duration="4 steps")
    assert losses(tmp_path / "older") == losses(tmp_path / "whole")
