"""`litebert finetune RECIPE --model DIR --train FILE --out DIR [setting=value …]`."""

from pathlib import Path
from typing import Any

from litebert.cli.output import Flag, Json, OptionalName, OptionalPath, Overrides, Recipe, emit, with_recipes


def description() -> str:
    """What `--help` says, with the recipes that there are."""
    return with_recipes("Train a model on a labelled file: CSV, TSV or JSON lines with named columns.", kind="finetune")


def finetune(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    model: str,
    train: Path,
    out: Path,
    dev: OptionalPath = None,
    text: str = "text",
    text_pair: OptionalName = None,
    label: str = "label",
    from_scratch: Flag = False,
    print_settings: Flag = False,
    json: Json = False,
) -> None:
    """Train a model on a labelled file.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        model: model directory, or a name on the hub
        train: labelled file
        out: run directory to make or to resume
        dev: file to select the best model by; without one a tenth of the training rows is held out
        text: column of the text
        text_pair: column of the second text of a pair
        label: column of the label or score
        from_scratch: start from random weights; `model` is then a preset or a directory for its architecture
        print_settings: print the resolved settings and stop
    """
    from litebert.runs.finetune import finetune as run
    from litebert.runs.finetune_settings import planned
    from litebert.settings import write_yaml
    from litebert.training.progress import progress_display

    data: dict[str, Any] = {"train": str(train), "text": text, "text_pair": text_pair, "label": label}
    if dev is not None:
        data["dev"] = str(dev)
    plan = planned(recipe, settings, given={"model": model, "from_scratch": from_scratch, "data": data})
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    result = run(plan, out, listeners=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
