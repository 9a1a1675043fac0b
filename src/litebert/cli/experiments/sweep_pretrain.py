"""`litebert sweep-pretrain RECIPE SETTING=VALUE,VALUE … --corpus CORPUS --out DIR`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, Recipe, Several, emit

Points = Annotated[
    tuple[str, ...], Positional, arg(metavar="SETTING=VALUE[,VALUE …] …", help_behavior_hint="(required)")
]


def sweep_pretrain(
    recipe: Recipe,
    settings: Points,
    *,
    corpus: Annotated[Path, arg(help_behavior_hint="(required)")],
    out: Annotated[Path, arg(help_behavior_hint="(required)")],
    tasks: Several = (),
    data: Several = (),
    finetune: Several = (),
    seeds: int = 1,
    jobs: int = 1,
    json: Json = False,
) -> None:
    """Pretrain at every point of a grid of settings, fine-tune each model on tasks, and write one table.

    The same command resumes, and trains the new models only if the grid has grown.

    Args:
        recipe: name of a pretraining recipe, or the path of a .yaml file
        settings: settings of the recipe; every combination of those with several values is a model
        corpus: corpus directory from `litebert corpus build`
        out: directory of the report, the results and the runs
        tasks: benchmarks that every model is fine-tuned on
        data: directories with the folders of GLUE, SQuAD and RACE
        finetune: settings of all fine-tuning runs, as setting=value
        seeds: number of seeds, from 0
        jobs: runs at the same time
    """
    from litebert.commands.reproduce.pretraining_sweep_settings import load_pretraining_sweep
    from litebert.commands.sweep.sweep_settings import validate_jobs

    validate_jobs(jobs)
    given = {"recipe": recipe, "corpus": corpus, "tasks": tasks, "data": data, "seeds": seeds}
    run = load_pretraining_sweep(settings, finetune=finetune, given=given)
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.reproduce.pretraining_sweep import sweep_pretraining

    result = sweep_pretraining(run, out, jobs=jobs)
    emit(result.to_dict(), result.to_text(), as_json=json)
