"""The paper's recipes update weights as google-research/albert: docs/reference/google-research-albert.md."""

import pytest

from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.commands.recipes import load_recipe, recipe_names
from litebert.training.optim.lr_schedules import Curve
from litebert.training.train_settings import TrainSettings

TABLE_14 = [name for name in recipe_names("finetune") if name not in ("default", "quickstart")]
PAPER = [name for name in recipe_names("pretrain") if name.startswith("paper-")]


def update_rule(train):
    return {
        "schedule": train.schedule,
        "betas": train.betas,
        "eps": train.eps,
        "weight_decay": train.weight_decay,
        "exclude_from_weight_decay": train.exclude_from_weight_decay,
        "exclude_from_layer_adaptation": train.exclude_from_layer_adaptation,
        "max_grad_norm": train.max_grad_norm,
        "spikes": train.spikes.policy,
    }


ORIGINAL = {
    "schedule": Curve(type="linear_tf"),
    "betas": (0.9, 0.999),
    "eps": 1e-6,
    "weight_decay": 0.01,
    "exclude_from_weight_decay": ("norm", "bias"),
    "exclude_from_layer_adaptation": None,
    "max_grad_norm": 1.0,
    "spikes": "none",
}


@pytest.mark.parametrize("name", recipe_names("finetune"))
def test_finetuning_recipes_skip_no_step_for_its_loss(name):
    train = load_finetune_config(name, given={"model": "m", "data": {"train": "t.csv"}}).train
    assert train.spikes.policy == "none"


@pytest.mark.parametrize("name", TABLE_14)
def test_recipes_of_table_14_use_the_adamw_of_the_original(name):
    train = load_finetune_config(name, given={"model": "m", "data": {"train": "t.csv"}}).train
    assert (train.optimizer, train.bias_correction) == ("adamw", False)
    assert update_rule(train) == ORIGINAL


@pytest.mark.parametrize("name", PAPER)
def test_pretraining_recipes_of_the_paper_use_the_lamb_of_the_original(name):
    train = TrainSettings.parse(load_recipe(name, command="pretrain").settings["train"], where=name)
    assert (train.optimizer, train.bias_correction) == ("lamb", None)
    assert update_rule(train) == ORIGINAL


def test_other_recipes_correct_the_bias_of_adamw():
    train = load_finetune_config("default", given={"model": "m", "data": {"train": "t.csv"}}).train
    assert (train.optimizer, train.bias_correction) == ("adamw", None)
