"""A grid of pretraining runs as one table, with the cells and the scheduler of the paper's tables."""

from pathlib import Path

from litebert.commands.reproduce.pretraining_sweep_settings import PretrainingSweep
from litebert.commands.reproduce.reproduce import ReproduceResult, run_tables
from litebert.machine import validate_processes


def sweep_pretraining(run: PretrainingSweep, out: Path, *, jobs: int = 1) -> ReproduceResult:
    """Train every model of the grid with every seed, and write one table of parameters, speed, scores and tasks."""
    validate_processes(jobs, where="jobs")
    tables, rows, about = {"grid": run.table()}, {"grid": run.cells()}, run.scale().about
    return run_tables(tables, rows, run.inputs, out, jobs=jobs, scale=run.recipe, about=about)
