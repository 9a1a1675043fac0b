"""`litebert pretrain RECIPE --corpus DIR --out DIR [setting=value …]`."""

from pathlib import Path
from typing import Annotated

import tyro

from litebert.cli.output import Json, emit

Overrides = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SETTING=VALUE …]")]


def description() -> str:
    """What `--help` says, with the recipes that there are."""
    from litebert.runs.recipes import load_recipe, recipe_names

    recipes = "\n".join(load_recipe(name, kind="pretrain").to_text() for name in recipe_names("pretrain"))
    return (
        "Train an encoder on a corpus. The same command again resumes the run, or says that it is done.\n\n"
        f"Recipes:\n{recipes}\n\n"
        "A setting of the recipe is changed as train.learning_rate=0.001; --print-settings shows them all."
    )


def pretrain(
    recipe: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE")],
    settings: Overrides = (),
    *,
    corpus: Path,
    out: Path,
    print_settings: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    json: Json = False,
) -> None:
    """Train an encoder on a corpus.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        corpus: corpus directory from `litebert corpus build`
        out: run directory to make or to resume
        print_settings: print the resolved settings and stop
    """
    from litebert.runs.pretrain import planned, pretrain as run
    from litebert.settings import write_yaml
    from litebert.training.progress import progress_display

    plan = planned(recipe, settings, corpus=corpus)
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    result = run(plan, out, listeners=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
