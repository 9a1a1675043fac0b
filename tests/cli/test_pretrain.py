"""`litebert pretrain --help` names every recipe, and settings that exist."""

import re

import pytest

from litebert.cli.pretrain import SETTINGS, description
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.recipes import recipe_names


@pytest.mark.parametrize("example", SETTINGS)
def test_pretrain_help_shows_only_settings_that_exist(example, made):
    load_pretrain_config("tiny", [example.replace("'", "")], corpus=made / "corpus")


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_pretrain_help_names_every_recipe(name):
    assert re.search(rf"\n  {re.escape(name)}[ \n]", description())


def test_pretrain_help_shows_how_to_start_several_processes():
    assert "torchrun --nproc-per-node 8 --no-python litebert pretrain" in description()
    assert "litebert pretrain … --processes 2" in description()
