"""`litebert sweep RECIPE --model DIR (--train FILE | --task NAME --task-dir DIR) --out DIR (--seeds N | --grid …)`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from litebert.cli.arguments.common import Flag, Json, OptionalRecipe, Overrides, print_result, recipe_and_settings
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.data_arguments import DataArguments

Grid = Annotated[tuple[str, ...], arg(metavar="SETTING=VALUE,VALUE …", help_behavior_hint="")]
Seeds = Annotated[int | None, arg(metavar="INT", help_behavior_hint="")]


def description() -> str:
    """The help text."""
    return "\n\n".join(
        [
            "Fine-tune with several seeds (--seeds 5), or at every point of a grid of settings "
            "(--grid train.learning_rate=1e-5,2e-5 batch_size=16,32 seed=0..4), and compare on the development rows.",
            "For each configuration: median with a bootstrap interval, mean ± std and best over the seeds. Collapsed "
            "trials are named. The results are one table, and the settings of the best trial as a recipe.",
            "The same command again resumes the sweep; a larger --grid trains the new trials only.",
            "The arguments are those of `litebert finetune`, whose --help also lists the recipes. "
            "`litebert sweep pretrain` compares pretraining settings.",
        ]
    )


def sweep(
    recipe: OptionalRecipe = "default",
    settings: Overrides = (),
    *,
    model: str,
    out: Path,
    grid: Grid = (),
    seeds: Seeds = None,
    retry_collapsed: int = 0,
    jobs: int = 1,
    data: Annotated[DataArguments, arguments_of(DataArguments)],
    from_scratch: Flag = False,
    json: Json = False,
) -> int:
    """Fine-tune with several seeds, or over a grid of settings, and compare; 1 if no trial is finished.

    Args:
        recipe: name of a recipe or benchmark, or the path of a .yaml file
        settings: settings of the recipe to change in every trial
        model: model directory, run directory, or a name on the hub
        out: directory of the sweep, to create or resume
        grid: settings with the values to try; every combination is a trial; a..b is a range of integers
        seeds: number of seeds, from 0: short for --grid seed=0..N-1
        retry_collapsed: how often a trial that collapsed or diverged is replaced by one with another seed
        jobs: trials at the same time, each in a process with its share of the threads and GPUs
        from_scratch: start from random weights; --model is then a preset or the directory of a model
    """
    from litebert.commands.sweep.sweep_settings import load_sweep_config
    from litebert.machine import validate_processes

    validate_processes(jobs, where="jobs")
    recipe, settings = recipe_and_settings(recipe, settings)
    given = {"model": model, "from_scratch": from_scratch, "data": data.to_setting(recipe)}
    plan = load_sweep_config(recipe, settings, given=given, grid=grid, seeds=seeds, retry_collapsed=retry_collapsed)
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.sweep.sweep import sweep as run
    from litebert.training.callbacks.progress_display import progress_display

    result = run(plan, out, jobs=jobs, callbacks=[progress_display()])
    print_result(result, as_json=json)
    return int(result.metric_for_best_model is None)
