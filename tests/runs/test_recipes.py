"""Recipes: each that comes with the package loads, parses and says what it is; the user's own are files."""

import pytest

from litebert.errors import ConfigError
from litebert.model.presets import preset
from litebert.runs.finetune_settings import planned as finetune_planned
from litebert.runs.pretrain_settings import PretrainRun
from litebert.runs.recipes import ABOUT, load_recipe, recipe_names, resolved_model

KINDS = {
    "pretrain": {"quickstart", "tiny", "small", "base", "paper-base"},
    "finetune": {"quickstart", "classification"},
}
RECIPES = [(kind, name) for kind in KINDS for name in recipe_names(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_recipes_that_are_promised_are_there(kind):
    assert set(recipe_names(kind)) >= KINDS[kind]


@pytest.mark.parametrize(("kind", "name"), RECIPES)
def test_every_recipe_parses_into_the_settings_of_its_verb(kind, name):
    if kind == "finetune":
        finetune_planned(name, given={"model": "m", "data": {"train": "t.csv"}})
        return
    settings = load_recipe(name, kind=kind).settings
    model = resolved_model(settings["model"], vocab_size=1000)
    run = PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name)
    assert run.examples.max_length <= run.model.max_position_embeddings
    assert run.batch_size % run.microbatch_size == 0


@pytest.mark.parametrize(("kind", "name"), RECIPES)
def test_every_recipe_says_what_it_is_what_it_costs_and_what_to_expect(kind, name):
    recipe = load_recipe(name, kind=kind)
    assert tuple(recipe.about) == ABOUT
    assert f"{kind} {name} " in recipe.about["command"]
    assert recipe.to_text().startswith(f"{name}\n  about     ")


def test_a_file_of_the_users_is_a_recipe_too(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("about: two\n  lines\nseed: 3\n")
    recipe = load_recipe(str(path), kind="pretrain")
    assert (recipe.name, recipe.about, recipe.settings) == ("mine", {"about": "two lines"}, {"seed": 3})
    assert recipe.with_overrides(["seed=4", "train.duration=2 steps"]) == {
        "seed": 4,
        "train": {"duration": "2 steps"},
    }


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ConfigError, match=r"'huge': no such recipe; expected .*tiny.* or a path"):
        load_recipe("huge", kind="pretrain")


def test_a_recipe_of_the_other_verb_is_unknown():
    with pytest.raises(ConfigError, match="no such recipe"):
        load_recipe("classification", kind="pretrain")


def test_a_preset_is_where_a_model_starts_and_its_settings_win():
    assert resolved_model({"preset": "tiny"}, vocab_size=77) == preset("tiny").replace(vocab_size=77).to_dict()
    assert resolved_model({"preset": "tiny", "hidden_size": 8}, vocab_size=77)["hidden_size"] == 8
    assert resolved_model({"hidden_size": 8}, vocab_size=77) == {"hidden_size": 8, "vocab_size": 77}
