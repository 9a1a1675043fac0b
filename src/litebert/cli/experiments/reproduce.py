"""`litebert reproduce TABLE…`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Flag, Json, Several, emit

Tables = Annotated[tuple[str, ...], Positional, arg(metavar="TABLE…", help_behavior_hint="(required)")]


def reproduce(
    tables: Tables,
    *,
    corpus: Annotated[Path, arg(help_behavior_hint="(required)")],
    out: Annotated[Path, arg(help_behavior_hint="(required)")],
    scale: str = "tiny",
    additional_corpus: Several = (),
    data: Several = (),
    seeds: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    jobs: int = 1,
    plan: Flag = False,
    check: Flag = False,
    json: Json = False,
) -> int:
    """Run the experiments behind tables and figures of the paper, and report its numbers beside yours.

    Runs that tables have in common are run once. The same command resumes, also after kill -9.

    Args:
        tables: table-1 to table-14, figure-1, figure-2, or `all`
        corpus: corpus directory from `litebert corpus build`
        out: directory of the report, the results and the runs
        scale: tiny (hours on two cores), small (a day on a GPU), paper (for --plan), or a .yaml file
        additional_corpus: corpora of the rows with additional data
        data: directories with the folders of GLUE, SQuAD and RACE; tasks without files are left out
        seeds: number of seeds of every table; default: as the scale says
        jobs: runs at the same time
        plan: print the number of runs, and the hours, memory and disk that they need, and stop
        check: exit with 1 if a claim of the paper does not hold
    """
    from litebert.commands.reproduce.reproduce_settings import ReproduceRun
    from litebert.commands.sweep.sweep_settings import validate_jobs

    validate_jobs(jobs)
    settings = {"tables": tables, "scale": scale, "corpus": corpus, "additional_corpus": additional_corpus}
    run = ReproduceRun.parse({**settings, "data": data, "seeds": seeds}, where="reproduce")
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.reproduce.reproduce import plan_tables
    from litebert.commands.reproduce.reproduce import reproduce as run_tables

    if plan:
        priced = plan_tables(run, out)
        emit(priced.to_dict(), priced.to_text(), as_json=json)
        return 0
    result = run_tables(run, out, jobs=jobs)
    emit(result.to_dict(), result.to_text(), as_json=json)
    return int(bool(result.failed) or (check and result.claims["not held"] > 0))
