"""How verbs print: results on stdout, as text for people or as JSON with `--json`."""

import json
import os
from collections.abc import Mapping
from typing import Annotated, Any

import tyro

Files = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILES")]
Recipe = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE")]
Overrides = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SETTING=VALUE …]")]
Json = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="print JSON instead of text")]


def is_first_process() -> bool:
    """Whether this is the only process of the command, or the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def emit(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result: `text`, or `result` as one JSON object a line."""
    if is_first_process():
        print(json.dumps(dict(result), ensure_ascii=False, default=str) if as_json else text)


def with_recipes(summary: str, *, kind: str) -> str:
    """The description of a verb that takes a recipe, with those that come with the package."""
    from litebert.runs.recipes import load_recipe, recipe_names

    recipes = [load_recipe(name, kind=kind).to_text() for name in recipe_names(kind)]
    return "\n".join(
        [
            summary,
            "The same command again resumes the run, or says that it is done.\n",
            "Recipes:",
            *recipes,
            "\nA setting of the recipe is changed as train.learning_rate=0.001; --print-settings shows them all.",
        ]
    )
