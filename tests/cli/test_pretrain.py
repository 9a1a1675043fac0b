"""`litebert pretrain --help` names every recipe, and settings that exist."""

import pytest

from litebert.cli.pretrain import SETTINGS, description
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.recipes import recipe_names


@pytest.mark.parametrize("example", SETTINGS)
def test_every_setting_in_the_help_is_one(example, made):
    load_pretrain_config("tiny", [example.replace("'", "")], corpus=made / "corpus")


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_help_names_every_recipe(name):
    assert f"\n  {name}\n" in description()


def test_help_says_how_several_processes_are_started():
    assert "torchrun --nproc-per-node 8 --no-python litebert pretrain" in description()
