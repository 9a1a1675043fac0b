"""`litebert finetune RECIPE --model DIR (--train FILE | --task NAME --data DIR) --out DIR [setting=value …]`."""

from pathlib import Path
from typing import Any

from litebert.cli.output import Flag, Json, OptionalName, OptionalPath, Overrides, Recipe, Several, emit, with_recipes
from litebert.errors import ConfigError


def description() -> str:
    """What `--help` says, with the recipes that there are."""
    from litebert.tasks.catalogue import TASKS

    tasks = ", ".join(name for name, row in TASKS.items() if "train" in row.parts)
    summary = (
        "Train a model on labelled rows of your own (--train: CSV, TSV or JSON lines with named columns, or CoNLL "
        f"columns), or on a published task (--task and --data). Tasks: {tasks}."
    )
    return with_recipes(summary, kind="finetune")


def finetune(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    model: str,
    out: Path,
    task: OptionalName = None,
    data: OptionalPath = None,
    train: OptionalPath = None,
    dev: OptionalPath = None,
    text: str = "text",
    text_pair: OptionalName = None,
    label: str = "label",
    options: Several = (),
    kind: OptionalName = None,
    from_scratch: Flag = False,
    print_settings: Flag = False,
    json: Json = False,
) -> None:
    """Train a model on labelled rows.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        model: model directory, or a name on the hub
        out: run directory to make or to resume
        task: a published task by its name
        data: directory of the published files of the task
        train: labelled file of your own
        dev: file to select the best model by; without one a tenth of the training rows is held out
        text: column of the text
        text_pair: column of the second text of a pair, or of a question with options
        label: column of the label, labels, score or right option
        options: columns of the options of a multiple choice; default: those called option1, option2, …
        kind: classification, regression, multi_label, multiple_choice or tokens; default: guessed and said
        from_scratch: start from random weights; `model` is then a preset or a directory for its architecture
        print_settings: print the resolved settings and stop
    """
    from litebert.runs.finetune import finetune as run
    from litebert.runs.finetune_settings import planned
    from litebert.settings import write_yaml
    from litebert.training.progress import progress_display

    columns = {"text": text, "text_pair": text_pair, "label": label, "options": options, "kind": kind}
    rows = labelled_rows(columns, task=task, data=data, train=train, dev=dev)
    plan = planned(recipe, settings, given={"model": model, "from_scratch": from_scratch, "data": rows})
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    result = run(plan, out, listeners=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)


def labelled_rows(
    columns: dict[str, Any], *, task: str | None, data: Path | None, train: Path | None, dev: Path | None
) -> dict[str, Any]:
    """The setting `data` of a run: a published task, or files with these columns."""
    if (task is None) == (train is None) or (task is None) != (data is None):
        raise ConfigError("give either --train (a labelled file), or --task and --data (a published task)")
    if train is None:
        return {"task": task, "directory": str(data)}
    return {"train": str(train), **columns} | ({"dev": str(dev)} if dev is not None else {})
