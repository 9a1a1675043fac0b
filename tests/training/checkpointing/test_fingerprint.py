"""The fingerprint names what makes two runs different."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import Field
from torch import nn

from litebert.errors import CheckpointError
from litebert.settings import Settings
from litebert.training.checkpointing.run_checkpoints import Fingerprint, parameters_digest
from support.runs.toy import ToyBatches, ToyModel, settings


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


def test_fingerprint_holds_all_that_the_weights_depend_on():
    values = fingerprint().values
    assert values["train.spikes.window"] == 128
    assert (values["model.layers"], values["corpus"], values["batches"], values["batch_size"]) == (2, "c", "toy", 8)
    assert "train.log_every" not in values


def test_parameters_digest_changes_with_names_and_shapes():
    models = [nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(2, 3, bias=False), nn.Sequential(nn.Linear(2, 3))]
    assert len({parameters_digest(model) for model in models}) == 4
    assert parameters_digest(models[0]) == parameters_digest(nn.Linear(2, 3))


@pytest.mark.parametrize(
    ("saved", "now", "change"),
    [({"a": 1}, {"a": 2}, "a was 1, is 2"), ({"a": 1}, {}, "a was 1, is None"), ({}, {"a": 1}, "a was None, is 1")],
)
def test_fingerprint_names_changed_missing_and_new_fields(saved, now, change):
    with pytest.raises(CheckpointError, match=change):
        refuse(saved, Fingerprint(now))
    refuse(saved, Fingerprint(now), allowed=("a",))


def test_changed_digests_are_named_by_what_they_are_of_and_the_permission_is_complete():
    descriptions = {"batches": "the rows of x.csv", "tokenizer": "the words"}
    now = Fingerprint({"batches": "b7", "max_length": 16, "tokenizer": "c5"}, descriptions=descriptions)
    with pytest.raises(CheckpointError) as refused:
        refuse({"batches": "a0", "max_length": 8, "tokenizer": "c5"}, now)
    assert str(refused.value) == (
        "run: the checkpoint is of another run: the rows of x.csv are not those that the run began with (batches); "
        "max_length was 8, is 16. Restore these, start in a new directory, or permit the change by "
        "train.allow_config_changes=[batches,max_length]"
    )


def test_settings_that_an_older_version_did_not_have_are_taken_as_their_defaults():
    saved = {name: value for name, value in fingerprint().values.items() if name != "model.width"}
    refuse(saved, fingerprint())
    with pytest.raises(CheckpointError, match=r"model\.width was 8, is 9"):
        refuse(saved, fingerprint(Model(layers=2, width=9)))
    with pytest.raises(CheckpointError, match=r"model\.layers was None, is 2"):
        refuse({name: value for name, value in saved.items() if name != "model.layers"}, fingerprint())


@pytest.mark.parametrize(
    ("allowed", "is_permitted"),
    [("sampling.max_length", True), ("data.train", True), ("hidden_dropout_prob", False), ("train", False)],
)
def test_other_batches_are_permitted_with_the_settings_that_they_follow_from(tmp_path, allowed, is_permitted):
    now = Fingerprint({"batches": "new rows"})
    with nullcontext() if is_permitted else pytest.raises(CheckpointError, match="batches was 'old rows'"):
        now.validate_unchanged({"batches": "old rows"}, where=tmp_path, allowed=(allowed,))
