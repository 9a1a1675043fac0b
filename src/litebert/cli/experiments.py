"""`litebert reproduce TABLE…`, `litebert sweep pretrain RECIPE SETTING=VALUE,VALUE …` and `litebert finetune-tasks`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Flag, Json, Recipe, Several, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.finetune.finetune_settings import RecipeSet
from litebert.commands.finetune_tasks.finetune_tasks_settings import FinetuneTasksRun
from litebert.commands.reproduce.reproduce_settings import ReproduceRun

Points = Annotated[
    tuple[str, ...], Positional, arg(metavar="SETTING=VALUE[,VALUE …] …", help_behavior_hint="(required)")
]


def reproduce(
    run: Annotated[ReproduceRun, arguments_of(ReproduceRun, positional=("tables",))],
    *,
    out: Annotated[Path, arg(help_behavior_hint="(required)")],
    jobs: int = 1,
    plan: Flag = False,
    check: Flag = False,
    json: Json = False,
) -> int:
    """Run the experiments behind tables and figures of the paper, and report its numbers beside yours.

    Runs that tables have in common are run once. The same command resumes, also after kill -9.

    Args:
        out: directory of the report, the results and the runs
        jobs: runs at the same time
        plan: print the number of runs, and the hours, memory and disk that they need, and stop
        check: exit with 1 if a claim of the paper does not hold
    """
    from litebert.machine import validate_processes

    validate_processes(jobs, where="jobs")
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.reproduce.reproduce import plan_tables
    from litebert.commands.reproduce.reproduce import reproduce as run_tables

    if plan:
        print_result(plan_tables(run, out), as_json=json)
        return 0
    result = run_tables(run, out, jobs=jobs)
    print_result(result, as_json=json)
    return result.exit_code(check=check)


def sweep_pretrain(
    recipe: Recipe,
    settings: Points,
    *,
    corpus: Annotated[Path, arg(help_behavior_hint="(required)")],
    out: Annotated[Path, arg(help_behavior_hint="(required)")],
    tasks: Several = (),
    data: Several = (),
    recipes: RecipeSet = "paper",
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
        tasks: benchmarks that every model is fine-tuned on, or `all` for those with files in the directories; the
            table also has their baselines
        data: directories with the folders of GLUE, SQuAD and RACE
        recipes: recipes of the tasks: `paper`, its table 14, for models of base size and up, or `small`, those of an
            encoder of a few million parameters, such as sst-2-small
        finetune: settings of all fine-tuning runs, as setting=value
        seeds: number of seeds, from 0
        jobs: runs at the same time
    """
    from litebert.commands.reproduce.pretraining_sweep_settings import load_pretraining_sweep
    from litebert.machine import validate_processes

    validate_processes(jobs, where="jobs")
    given = {"recipe": recipe, "corpus": corpus, "tasks": tasks, "data": data, "recipes": recipes, "seeds": seeds}
    run = load_pretraining_sweep(settings, finetune=finetune, given=given)
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.reproduce.reproduce import sweep_pretraining

    print_result(sweep_pretraining(run, out, jobs=jobs), as_json=json)


def finetune_tasks(
    run: Annotated[FinetuneTasksRun, arguments_of(FinetuneTasksRun, positional=("tasks",))],
    *,
    jobs: int = 1,
    json: Json = False,
) -> int:
    """Fine-tune one or several models on several benchmarks with their recipes. With --intermediate each run starts
    from the encoder of a task that is trained once before, as the paper does for RTE, STS-B and MRPC from MNLI.

    With --baselines, --random-weights and --compare the table OUT/table.md has what the model is compared with, on the
    same rows with the same settings, apart from --model-settings, and seeds.

    The same command again resumes; finished runs are not trained again. A run that diverges, and with --jobs one that
    fails, stops no other; the exit code is 1 if no run has scores.

    Args:
        jobs: runs at the same time, each in a process with its share of the threads and GPUs
    """
    from litebert.machine import validate_processes

    validate_processes(jobs, where="jobs")
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.finetune_tasks.finetune_tasks import finetune_tasks as command
    from litebert.training.callbacks.progress_display import progress_display

    result = command(run, jobs=jobs, callbacks=[progress_display()])
    print_result(result, as_json=json)
    return int(not result.scores)
