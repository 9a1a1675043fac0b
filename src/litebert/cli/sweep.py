"""`litebert sweep RECIPE --model DIR (--train FILE | --task NAME --data DIR) --out DIR (--seeds N | --grid …)`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from litebert.cli.arguments.common import Flag, Json, Overrides, Recipe, emit
from litebert.cli.arguments.labelled_data import COLUMNS, NO_ROWS, ColumnArguments, TrainingRows

Grid = Annotated[tuple[str, ...], arg(metavar="SETTING=VALUE,VALUE …", help_behavior_hint="")]
Seeds = Annotated[int | None, arg(metavar="INT", help_behavior_hint="")]


def description() -> str:
    """What `--help` says."""
    return "\n\n".join(
        [
            "Fine-tune with several seeds (--seeds 5), or at every point of a grid of settings "
            "(--grid train.learning_rate=1e-5,2e-5 batch_size=16,32 seed=0..4), and compare on the development rows.",
            "Of the seeds of each configuration: median with a bootstrap interval, mean ± std, best. A run that "
            "learned nothing is named. One table at the end, and the best run's settings as a recipe.",
            "The same command again goes on where it was stopped; a larger --grid trains what is new.",
            "Arguments as of `litebert finetune`, whose --help also lists the recipes.",
        ]
    )


def sweep(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    model: str,
    out: Path,
    grid: Grid = (),
    seeds: Seeds = None,
    restarts: int = 0,
    jobs: int = 1,
    rows: TrainingRows = NO_ROWS,
    columns: ColumnArguments = COLUMNS,
    from_scratch: Flag = False,
    json: Json = False,
) -> None:
    """Fine-tune with several seeds, or over a grid of settings, and compare.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change in every run
        model: model directory, or a name on the hub
        out: directory of the sweep, to make or to resume
        grid: settings with the values to try; every combination is a run; a..b is a range of whole numbers
        seeds: how many seeds to try, from 0: short for --grid seed=0..N-1
        restarts: how often a run that learned nothing is begun again with another seed
        jobs: runs at once, each in a process with its part of the threads, and of the GPUs
        from_scratch: start from random weights; `model` is then a preset or a directory for its architecture
    """
    from litebert.commands.sweep.sweep import sweep as run
    from litebert.commands.sweep.sweep_settings import load_sweep_config
    from litebert.training.callbacks.progress_display import progress_display

    given = {"model": model, "from_scratch": from_scratch, "data": rows.setting(recipe, columns)}
    plan = load_sweep_config(recipe, settings, given=given, grid=grid, seeds=seeds, restarts=restarts)
    result = run(plan, out, jobs=jobs, callbacks=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
