"""A grid of pretraining runs as one table, with the cells and the scheduler of the paper's tables."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field

from litebert.commands.recipes import load_recipe
from litebert.commands.reproduce.cells import Inputs, cells_of
from litebert.commands.reproduce.paper_tables import Row, Scale, Table
from litebert.commands.reproduce.reproduce import ReproduceResult, run_tables
from litebert.commands.sweep.sweep_settings import parse_grid
from litebert.errors import ConfigError
from litebert.settings import Settings

MODEL = "recipe"
MEASURES = ("tokens_per_second", "mlm_accuracy", "mlm_loss", "sop_accuracy", "nsp_accuracy")


class PretrainingSweep(Settings):
    """Models that differ in some settings, pretrained on one corpus and fine-tuned on some tasks."""

    recipe: str
    """Pretraining recipe."""
    settings: dict[str, Any] = Field(default={})
    """Settings of the recipe to change in every run."""
    grid: dict[str, tuple[Any, ...]] = Field(min_length=1)
    """Setting → values; every combination is a row."""
    corpus: Path
    """Corpus directory."""
    tasks: tuple[str, ...] = ()
    """Benchmarks that every model is fine-tuned on, with their recipes."""
    data: tuple[Path, ...] = ()
    """Directories with the folders of the benchmarks."""
    finetune: dict[str, Any] = Field(default={})
    """Settings of all fine-tuning runs."""
    seeds: int = Field(default=1, ge=1)
    """Number of seeds, from 0."""


def sweep_pretraining(run: PretrainingSweep, out: Path, *, jobs: int = 1) -> ReproduceResult:
    """Train every model of the grid with every seed, and write one table of parameters, speed, scores and tasks."""
    load_recipe(run.recipe, command="pretrain")
    inputs = Inputs(run.corpus, (), run.data)
    for task in run.tasks:
        if inputs.directory_of(task) is None:
            raise ConfigError(f"{task}: its files are in none of {', '.join(map(str, run.data)) or 'the directories'}")
    scale = Scale(
        about=f"Models of the recipe {run.recipe}.",
        recipe=run.recipe,
        settings=run.settings,
        models={MODEL: {}},
        tasks={task: {} for task in run.tasks},
        finetune=run.finetune,
        seeds=run.seeds,
    )
    table = Table(title=f"Grid over {', '.join(run.grid)}", measures=MEASURES, rows=tuple(rows_of(run.grid)))
    rows = cells_of(table, scale, inputs, seeds=range(run.seeds))
    return run_tables({"grid": table}, {"grid": rows}, inputs, out, jobs=jobs, scale=run.recipe, about=scale.about)


def rows_of(grid: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Every combination, the last setting fastest."""
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    names = [", ".join(f"{name}={value}" for name, value in point.items()) for point in points]
    return [Row(name=name, model=MODEL, set=point) for name, point in zip(names, points, strict=True)]


def parse_points(words: Sequence[str]) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """Settings with one value, and the grid of those with several: `name=value` and `name=value,value`."""
    parsed = {name: tuple(values) for name, values in parse_grid(words).items()}
    single = {name: values[0] for name, values in parsed.items() if len(values) == 1}
    return single, {name: values for name, values in parsed.items() if len(values) > 1}
