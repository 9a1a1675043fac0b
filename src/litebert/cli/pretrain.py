"""`litebert pretrain RECIPE --corpus DIR --out DIR [setting=value …]`."""

from pathlib import Path

from litebert.cli.output import Flag, Json, Overrides, Recipe, emit, with_recipes


def description() -> str:
    """What `--help` says, with the recipes that there are."""
    return with_recipes("Train an encoder on a corpus.", kind="pretrain")


def pretrain(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    corpus: Path,
    out: Path,
    print_settings: Flag = False,
    dry_run: Flag = False,
    json: Json = False,
) -> None:
    """Train an encoder on a corpus.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        corpus: corpus directory from `litebert corpus build`
        out: run directory to make or to resume
        print_settings: print the resolved settings and stop
        dry_run: do one step, tell the memory, time and disk that the run needs, and write nothing
    """
    from litebert.runs.pretrain import pretrain as run
    from litebert.runs.pretrain_settings import planned
    from litebert.settings import write_yaml
    from litebert.training.progress import progress_display

    plan = planned(recipe, settings, corpus=corpus)
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    if dry_run:
        from litebert.runs.dry_run import dry_run as rehearse

        report = rehearse(plan, out)
        emit({**report.to_dict(), "disk_needed": report.disk_needed}, report.to_text(), as_json=json)
        return
    result = run(plan, out, listeners=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
