"""The cells of tables: each is one pretraining or fine-tuning run, an ensemble, or a measurement of one model.

A cell is named by a hash of everything that its result depends on, so tables share the cells that they have in common,
and a stored result is used again.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from litebert.commands.finetune.data_settings import without_directory
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config, recipe_of_task
from litebert.commands.finetune_tasks.tasks_with_files import directory_of
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.reproduce.tables.paper_tables import BaselineName, Row, Table
from litebert.commands.reproduce.tables.scales import Scale, Value
from litebert.commands.runs.run_directory import deciding_settings
from litebert.corpus.format.shards import Corpus
from litebert.errors import ConfigError
from litebert.settings import validate_undecided

Kind = Literal["pretrain", "finetune", "ensemble", "layers", "baseline"]
VERSION = 1
"""Part of every name: raise it when the meaning of the same settings changes."""
_DECIDED: Final = {"seed": "--seeds"}
_DECIDED_IN_FINETUNING: Final = {
    **_DECIDED,
    "model": "the row",
    "data.task": "the tasks",
    "data.directory": "--data",
}
"""Setting → what decides it, so that nobody else may."""


@dataclass(frozen=True)
class Inputs:
    """The text and the labelled data that the cells read."""

    corpus: Path
    additional: tuple[Path, ...] = ()
    """Corpora of the rows with additional data."""
    data: tuple[Path, ...] = ()
    """Directories with the folders of the benchmarks."""

    def directory_of(self, task: str) -> Path | None:
        """The directory with training and development file of a benchmark; None if there is none."""
        return directory_of(task, self.data)


@dataclass(frozen=True, eq=False)
class Cell:
    """One run, whose result is a few numbers."""

    kind: Kind
    settings: dict[str, Any]
    """As a recipe has them; without the paths of the cells in `needs`."""
    identity: dict[str, Any]
    """The part of the settings that decides on the result; fingerprints stand for paths."""
    needs: tuple["Cell", ...] = field(default=())
    """Cells whose models this one reads."""

    @cached_property
    def key(self) -> str:
        """Name of the cell: its kind and 16 hex digits."""
        content = [VERSION, self.kind, self.identity, [cell.key for cell in self.needs]]
        digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
        return f"{self.kind}-{digest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class RowCells:
    """The cells of one row with one seed."""

    row: str
    seed: int
    model: Cell | None
    """None for an ensemble, a fine-tuning recipe and a baseline."""
    tasks: dict[str, Cell]
    layers: Cell | None = None
    train: bool = True
    """Whether the model is trained; false: its sizes are all that is wanted."""
    recipe: str | None = None
    """Fine-tuning recipe whose settings are the values of the row."""

    def all(self) -> Iterator[Cell]:
        """Every cell to run, those that others need first."""
        model = self.model if self.train else None
        yield from (cell for cell in (model, *self.tasks.values(), self.layers) if cell is not None)


def cells_of(table: Table, scale: Scale, inputs: Inputs, *, seeds: Sequence[int]) -> list[RowCells]:
    """The cells of all rows and seeds; rows with additional data are left out if there is none."""
    rows: list[Row] = []
    for row in table.rows:
        names = [each.name for each in rows]
        has_data = row.corpus == "standard" or bool(inputs.additional)
        if has_data and all(name in names for name in row.needs):
            rows.append(row)
    tasks = table.tasks_of(scale)
    baselines = [
        RowCells(row.name, seeds[0], None, baseline_cells(scale, inputs, row.baseline, tasks=tasks))
        for row in rows
        if row.baseline
    ]
    models = [row for row in rows if not row.baseline]
    return [cells for seed in seeds for cells in _cells_of_seed(models, table, scale, inputs, seed)] + baselines


def unique(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, and before it those that it needs."""
    found: dict[Cell, None] = {}

    def add(cell: Cell) -> None:
        for needed in cell.needs:
            add(needed)
        found.setdefault(cell)

    for cell in cells:
        add(cell)
    return list(found)


def _cells_of_seed(rows: Sequence[Row], table: Table, scale: Scale, inputs: Inputs, seed: int) -> Iterator[RowCells]:
    models: dict[str, Cell] = {}
    tasks: dict[str, dict[str, Cell]] = {}
    for row in rows:
        if row.ensemble_of:
            members = [tasks[name] for name in row.ensemble_of]
            tasks[row.name] = {task: _ensemble([each[task] for each in members]) for task in members[0]}
            yield RowCells(row.name, seed, None, tasks[row.name])
            continue
        if row.recipe:
            yield RowCells(row.name, seed, None, {}, recipe=row.recipe)
            continue
        start = models[row.start_from] if row.start_from else None
        model = models[row.name] = pretrain_cell(scale, inputs, _settings(row, scale), seed, start=start, row=row)
        found = tasks[row.name] = finetune_cells(scale, inputs, model, seed, tasks=table.tasks_of(scale))
        layers = Cell("layers", model.settings, {}, (model,)) if table.figure == "layers" else None
        yield RowCells(row.name, seed, model, found, layers, train=table.train)


def _settings(row: Row, scale: Scale) -> dict[str, Value]:
    if row.model is None or row.model not in scale.models:
        raise ConfigError(f"{row.name}: the scale has no model {row.model!r}; it has {', '.join(scale.models)}")
    return {**scale.models[row.model], **scale.resolve(row.set)}


def pretrain_cell(
    scale: Scale,
    inputs: Inputs,
    settings: Mapping[str, Value],
    seed: int,
    *,
    start: Cell | None = None,
    row: Row | None = None,
) -> Cell:
    """The pretraining run of a model of the scale."""
    more = inputs.additional if row is not None and row.corpus == "additional" else ()
    changed = {**scale.settings, **settings}
    validate_undecided(row.name if row else scale.recipe, changed, decided=_DECIDED)
    run = load_pretrain_config(scale.recipe, overrides({**changed, "seed": seed}), corpus=inputs.corpus)
    mixture = [[Corpus.open(path).fingerprint, weight] for path, weight in run.data_mixture.items()]
    run = run.replace(data_mixture={**run.data_mixture, **{str(path): 1.0 for path in more}}) if more else run
    texts = [Corpus.open(path).fingerprint for path in (inputs.corpus, *more)]
    identity = {**deciding_settings(run), "corpus": texts, "data_mixture": mixture or None}
    if run.progressive_depth is None:
        del identity["progressive_depth"]  # runs of versions without this setting keep their names
    if run.init_checkpoint is not None:  # the same path may hold other weights
        from litebert.commands.pretrain.init_checkpoint import weights_digests  # imports torch

        identity["init_checkpoint"] = weights_digests(run.init_checkpoint) or run.init_checkpoint
    return Cell("pretrain", run.to_dict(), identity, (start,) if start else ())


def finetune_cells(scale: Scale, inputs: Inputs, model: Cell, seed: int, *, tasks: Sequence[str]) -> dict[str, Cell]:
    """The fine-tuning runs of a model, by task; tasks without files are left out."""
    runs = _finetune_settings(scale, inputs, seed, tasks=tasks)
    return {task: Cell("finetune", run.to_dict(), _finetune_identity(run), (model,)) for task, run in runs}


def baseline_cells(scale: Scale, inputs: Inputs, baseline: BaselineName, *, tasks: Sequence[str]) -> dict[str, Cell]:
    """What the models of a table are compared with, by task; tasks without files are left out."""
    runs = _finetune_settings(scale, inputs, 0, tasks=tasks)
    return {
        task: Cell(
            "baseline",
            {"run": run.to_dict(), "baseline": baseline},
            {"data": without_directory(run.data), "metrics": run.metrics, "name": baseline},
        )
        for task, run in runs
    }


def _finetune_settings(
    scale: Scale, inputs: Inputs, seed: int, *, tasks: Sequence[str]
) -> Iterator[tuple[str, FinetuneRun]]:
    """The fine-tuning run of each task that has files."""
    for task in tasks:
        directory = inputs.directory_of(task)
        if directory is None:
            continue
        given = {"model": "(the pretrained model)", "data": {"task": task, "directory": str(directory)}}
        changed = {**scale.finetune, **scale.resolve(scale.tasks[task])}
        validate_undecided(f"fine-tuning on {task}", changed, decided=_DECIDED_IN_FINETUNING)
        words = overrides({**changed, "seed": seed})
        recipe = recipe_of_task(task, scale.recipes)
        yield task, load_finetune_config(recipe, words, given=given)


def _finetune_identity(run: FinetuneRun) -> dict[str, Any]:
    # `baseline` has no effect, but is part of the names of stored results.
    return {**deciding_settings(run), "baseline": run.baseline, "data": without_directory(run.data)}


def _ensemble(members: Sequence[Cell]) -> Cell:
    data = members[0].settings["data"]
    settings = {"task": data["task"], "task_dir": data["directory"]}
    return Cell("ensemble", settings, {"task": data["task"]}, tuple(members))


def overrides(settings: Mapping[str, Value]) -> list[str]:
    """`name=value` words, with the values as JSON, which is YAML."""
    return [f"{name}={json.dumps(value)}" for name, value in settings.items()]
