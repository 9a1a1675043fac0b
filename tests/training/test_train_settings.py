"""Every training setting has an effect; values out of range are refused."""

import json

import pytest
import torch

from litebert.errors import ConfigError, DivergedError
from litebert.training.loop.duration import Duration
from litebert.training.train_settings import TrainSettings
from support.runs.toy import ToyBatches, losses, rows, settings, train, validation, weights

# Setting → a value that must change the weights.
CHANGES_WEIGHTS = {
    "duration": "5 steps",
    "optimizer": "adamw",
    "learning_rate": 0.02,
    "lr_reference_batch_size": 3,
    "betas": [0.8, 0.99],
    "eps": 0.1,
    "weight_decay": 0.5,
    "bias_correction": True,
    "exclude_from_weight_decay": ["up"],
    "exclude_from_layer_adaptation": ["up"],
    "schedule": "cosine",
    "warmup": 0.5,
    "max_grad_norm": 0.1,
    "precision": "bf16",
    "spikes": {"policy": "skip", "sigma_factor": 0.01, "window": 2},
}
MUON = {"optimizer": "muon", "muon_parameters": ["up", "classifier"]}
# Setting → a value that must change the weights that Muon trains.
CHANGES_MUON = {"muon_learning_rate": 0.1, "muon_momentum": 0.5, "muon_parameters": ["up"], "muon_companion": "lamb"}
# Settings whose effect is elsewhere, each with a test below or in the file named.
OTHERS = {
    "evaluate_every",
    "checkpoint_every",
    "keep_checkpoints",
    "log_every",
    "milestones",  # commands/test_milestones.py
    "max_consecutive_skipped_steps",
    "trackers",  # test_trackers.py
    "allow_config_changes",  # test_trainer.py
    "device",  # distributed/test_context.py
    "fsdp",  # tests/distributed
    "timeout_seconds",  # distributed/test_context.py
}


def test_train_settings_all_have_a_test():
    numeric = CHANGES_WEIGHTS.keys() | CHANGES_MUON.keys()
    assert numeric | OTHERS == TrainSettings.model_fields.keys()
    assert settings().numeric_settings().keys() == numeric


@pytest.fixture(scope="module")
def weight(tmp_path_factory):
    return train(tmp_path_factory.mktemp("plain"))[0].up.weight


@pytest.mark.parametrize("name", CHANGES_WEIGHTS)
def test_numeric_setting_changes_the_weights(tmp_path, weight, name):
    model, _ = train(tmp_path, **{name: CHANGES_WEIGHTS[name]})
    assert not torch.equal(model.up.weight, weight)


@pytest.mark.parametrize("name", CHANGES_MUON)
def test_muon_setting_changes_the_weights(tmp_path, name):
    plain, _ = train(tmp_path / "plain", **MUON)
    changed, _ = train(tmp_path / "changed", **{**MUON, name: CHANGES_MUON[name]})
    assert not torch.equal(weights(changed), weights(plain))


def test_seed_changes_the_weights(tmp_path, weight):
    assert not torch.equal(train(tmp_path, seed=1)[0].up.weight, weight)


def test_evaluate_every_sets_the_interval(tmp_path):
    train(tmp_path, evaluate=validation, evaluate_every="2 steps")
    assert [row["step"] for row in rows(tmp_path) if "evaluation/loss" in row] == [2, 4, 6]


def test_evaluate_every_null_evaluates_at_the_end(tmp_path):
    train(tmp_path, evaluate=validation)
    assert [row["step"] for row in rows(tmp_path) if "evaluation/loss" in row] == [6]


def test_checkpoint_every_and_keep_checkpoints_set_which_stay(tmp_path):
    train(tmp_path, checkpoint_every="2 steps", keep_checkpoints=2)
    assert sorted(path.name for path in (tmp_path / "checkpoints").glob("step-*")) == ["step-00000004", "step-00000006"]


def test_log_every_sets_the_steps_that_are_logged(tmp_path):
    train(tmp_path, log_every=4)
    assert list(losses(tmp_path)) == [4, 6]


def test_max_consecutive_skipped_steps_ends_a_diverged_run(tmp_path):
    with pytest.raises(DivergedError, match=r"at 2 steps in a row up to step 3.*Likely causes"):
        train(tmp_path, batches=ToyBatches(broken=((1, 0), (2, 0))), max_consecutive_skipped_steps=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0),
        ("betas", [1.0, 0.9]),
        ("eps", 0),
        ("weight_decay", -1),
        ("exclude_from_weight_decay", ["("]),
        ("exclude_from_layer_adaptation", ["("]),
        ("warmup", 1.0),
        ("warmup", -0.1),
        ("warmup", "soon"),
        ("max_grad_norm", 0),
        ("precision", "fp8"),
        ("optimizer", "sgd"),
        ("evaluate_every", "0 steps"),
        ("keep_checkpoints", 0),
        ("log_every", 0),
        ("max_consecutive_skipped_steps", -1),
        ("spikes", {"policy": "hope"}),
        ("spikes", {"sigma_factor": 0}),
        ("spikes", {"window": 1}),
        ("spikes", {"max_rollbacks": -1}),
        ("device", "tpu"),
        ("timeout_seconds", 0),
        ("trackers", ["paper"]),
        ("momentum", 0.9),
    ],
)
def test_train_settings_refuse_invalid_values_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        settings(**{name: value})


def test_fp16_with_fsdp_is_refused():
    with pytest.raises(ConfigError, match="fp16 does not work with fsdp; use bf16"):
        settings(precision="fp16", fsdp=True)


@pytest.mark.parametrize("warmup", [0, 0.1, "0.1", "100 steps"])
def test_warmup_is_a_fraction_or_a_duration(warmup):
    expected = Duration.parse(warmup) if warmup == "100 steps" else float(warmup)
    assert settings(warmup=warmup).warmup == expected


def test_train_settings_survive_json():
    chosen = settings(warmup="2 steps", evaluate_every="1 minute", schedule={"type": "polynomial", "power": 3})
    assert settings(**json.loads(json.dumps(chosen.to_dict()))) == chosen
