"""The paper's recipes and google-research/albert, held to docs/reference/google-research-albert.md."""

from pathlib import Path

import pytest
import yaml

from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.recipes import load_recipe, recipe_names, resolved_model
from litebert.training.loop.duration import Duration
from litebert.training.optim.lr_schedules import Curve
from litebert.training.train_settings import TrainSettings

TABLE_14 = [
    name for name in recipe_names("finetune") if name not in ("default", "quickstart") and not name.endswith("-small")
]
PAPER = [name for name in recipe_names("pretrain") if name.startswith(("paper-", "google-"))]
SIZES = ("base", "large", "xlarge", "xxlarge")
PAGE = Path(__file__).parents[2] / "docs/reference/google-research-albert.md"


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


def flat(settings, prefix=""):
    """Settings by their dotted names."""
    found = {}
    for name, value in settings.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def pretraining(name):
    settings = load_recipe(name, command="pretrain").settings
    model = resolved_model(settings["model"], vocab_size=30_000)
    return flat(PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name).to_dict())


def differences(first, second):
    return {name: (first[name], second[name]) for name in first if first[name] != second[name]}


def documented(header):
    """The rows below a header line of the page, as lists of cells."""
    below = PAGE.read_text().split(header + "\n")[1].splitlines()[1:]
    lines = below[: next(number for number, line in enumerate(below) if not line.startswith("|"))]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def parsed(name, value):
    """The value of a setting as the recipe stores it."""
    return str(Duration.parse(value)) if name == "train.duration" else yaml.safe_load(value)


@pytest.mark.parametrize("size", SIZES)
def test_settings_in_which_text_and_released_code_differ_are_the_rows_of_the_table(size):
    rows = documented("| setting | where | `paper-*` | `google-*` | the text | the release |")
    wanted = {
        name: (parsed(name, text), parsed(name, code))
        for name, where, text, code, *_ in rows
        if where in ("all sizes", size)
    }
    assert len(wanted) >= 4
    assert differences(pretraining(f"paper-{size}"), pretraining(f"google-{size}")) == wanted


def test_settings_in_which_race_and_race_v2_differ_are_the_rows_of_the_table():
    text, code = (
        flat(load_finetune_config(name, given={"model": "m", "data": {"train": "t.csv"}}).to_dict())
        for name in ("race", "race-v2")
    )
    rows = documented("| setting | `race` | `race-v2` |")
    assert differences(text, code) == {name: (parsed(name, a), parsed(name, b)) for name, a, b in rows}
