"""The settings of `litebert sweep pretrain`, and the runs of its grid. Imports no torch, so that wrong settings are
refused at once.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from litebert.commands.finetune.finetune_settings import RecipeSet
from litebert.commands.finetune_tasks.tasks_with_files import with_all_tasks
from litebert.commands.recipes import load_recipe
from litebert.commands.reproduce.cells import Inputs, RowCells, cells_of
from litebert.commands.reproduce.tables.paper_tables import Row, Table
from litebert.commands.reproduce.tables.scales import Scale
from litebert.commands.sweep.sweep_settings import parse_grid
from litebert.errors import ConfigError
from litebert.settings import MAX_SEEDS, Settings
from litebert.tasks.benchmarks.benchmarks import benchmark_task

MODEL = "recipe"
BASELINES: tuple[Row, ...] = (
    Row(name="constant prediction", baseline="constant"),
    Row(name="tf-idf and a linear model", baseline="linear"),
)
MEASURES = (
    *("tokens_per_second", "mlm_accuracy", "mlm_loss", "clm_accuracy", "clm_loss", "sop_accuracy", "nsp_accuracy"),
)


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
    """Benchmarks that every model is fine-tuned on, with their recipes; `all`: those with files in `data`."""
    data: tuple[Path, ...] = ()
    """Directories with the folders of the benchmarks."""
    recipes: RecipeSet = "paper"
    """Recipes of the tasks: `paper`, its table 14, or `small`, those of an encoder of a few million parameters."""
    finetune: dict[str, Any] = Field(default={})
    """Settings of all fine-tuning runs."""
    seeds: int = Field(default=1, ge=1, le=MAX_SEEDS)
    """Number of seeds, from 0."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.finetune and not self.tasks:
            raise ValueError("finetune: there are no tasks; name them (--tasks)")
        return self

    @property
    def inputs(self) -> Inputs:
        """The data of the cells."""
        return Inputs(self.corpus, (), self.data)

    def scale(self) -> Scale:
        """What the runs have in common."""
        return Scale(
            about=f"Models of the recipe {self.recipe}.",
            recipe=self.recipe,
            settings=self.settings,
            models={MODEL: {}},
            tasks={task: {} for task in self.tasks},
            recipes=self.recipes,
            finetune=self.finetune,
            seeds=self.seeds,
        )

    def table(self) -> Table:
        """A row for each combination of the grid, and the baselines of the tasks."""
        rows = (*rows_of(self.grid), *(BASELINES if self.tasks else ()))
        return Table(title=f"Grid over {', '.join(self.grid)}", measures=MEASURES, rows=rows)

    def cells(self) -> list[RowCells]:
        """The runs of all rows and seeds; raises ConfigError for wrong settings, DataError for a wrong corpus."""
        return cells_of(self.table(), self.scale(), self.inputs, seeds=range(self.seeds))


def load_pretraining_sweep(
    settings: Sequence[str], *, finetune: Sequence[str], given: Mapping[str, Any]
) -> PretrainingSweep:
    """The settings of a sweep from words `name=value` and `name=value,value`, those of all its runs validated."""
    single, grid = parse_points(settings)
    of_tasks, several = parse_points(finetune)
    if several:
        name = next(iter(several))
        raise ConfigError(f"finetune: {name} has {len(several[name])} values; give one, all runs have the same")
    values = {**given, "settings": single, "grid": grid, "finetune": of_tasks}
    run = PretrainingSweep.parse(values, where="sweep pretrain")
    run = run.replace(tasks=with_all_tasks(run.tasks, run.data, recipes=run.recipes, argument="--data"))
    load_recipe(run.recipe, command="pretrain")
    for task in run.tasks:
        benchmark_task(task)
        if run.inputs.directory_of(task) is None:
            searched = f"in none of {', '.join(map(str, run.data))}" if run.data else "not given"
            raise ConfigError(f"{task}: its files are {searched}; give the directory of the benchmark (--data)")
    _validate_rows_differ(run.cells())
    from litebert.commands.finetune.comparison import require_scikit_learn  # imports torch

    require_scikit_learn(run.tasks, needed_for="the linear baseline of --tasks")
    return run


def _validate_rows_differ(rows: Sequence[RowCells]) -> None:
    """Raise ConfigError if two rows are one run, of which one row would have the time and speed of the other."""
    found: dict[str, RowCells] = {}
    for row in rows:
        if row.model is not None and (other := found.setdefault(row.model.key, row)) is not row:
            raise ConfigError(
                f"({other.row}) and ({row.row}) would be one run, because these settings do not change its result; "
                "sweep other settings, or compare speeds by `litebert pretrain` with each"
            )


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
