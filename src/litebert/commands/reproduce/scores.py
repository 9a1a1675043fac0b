"""The scores of a table: row by metric by seed, from the results of its cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from litebert.commands.finetune.finetune_settings import load_finetune_config
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.reproduce.cells import Cell, RowCells
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.commands.reproduce.tables.table_metrics import SIZES, Metric
from litebert.files import finite
from litebert.model.model_stats import parameter_counts
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.training.loop.duration import Duration


@dataclass(frozen=True)
class Scores:
    """What is known of a table."""

    values: dict[str, dict[Metric, list[float | None]]]
    """Row → metric → one value a seed; None where the cell has no result, or one that is not a number."""
    records: dict[str, dict[int, list[dict[str, Any]]]]
    """Row → seed → the results of its pretrained model and, in figure 1, of its layers."""
    runs: dict[str, list[str]] = field(default_factory=dict)
    """Row → the names of the runs of its pretrained models, one a seed."""

    def of(self, row: str, metric: Metric) -> list[float | None]:
        """One value a seed; empty if the metric was not measured."""
        return self.values.get(row, {}).get(metric, [])

    def of_first_seed(self, field: str) -> dict[str, dict[str, Any]]:
        """Row → the result that has this field, of the first seed for which every such row has one."""
        found = {
            row: {seed: each for seed, results in of_row.items() for each in results if field in each}
            for row, of_row in self.records.items()
        }
        rows = {row: seeds for row, seeds in found.items() if seeds}
        common = set.intersection(*map(set, rows.values())) if rows else set()
        return {row: seeds[min(common)] for row, seeds in rows.items()} if common else {}


def scores_of(rows: Sequence[RowCells], paths: CellPaths) -> Scores:
    """The scores of the finished cells."""
    values: dict[str, dict[Metric, list[float | None]]] = {}
    records: dict[str, dict[int, list[dict[str, Any]]]] = {}
    runs: dict[str, list[str]] = {}
    for cells in rows:
        of_row = values.setdefault(cells.row, {})
        found = _metrics(cells, paths)
        for metric in dict.fromkeys((*of_row, *found)):
            seeds_before = sum(each.row == cells.row and each.seed < cells.seed for each in rows)
            missing: list[float | None] = [None] * seeds_before
            of_row.setdefault(metric, missing).append(found.get(metric))
        for cell in (cells.model, cells.layers):
            if cell is not None and (record := paths.read(cell)):
                records.setdefault(cells.row, {}).setdefault(cells.seed, []).append(record)
        if cells.model is not None and cells.train:
            runs.setdefault(cells.row, []).append(cells.model.key)
    return Scores(values, records, runs)


def _metrics(cells: RowCells, paths: CellPaths) -> dict[Metric, float | None]:
    found: dict[Metric, float | None] = {}
    for cell in (cells.model if cells.train else None, cells.layers):
        found |= (paths.read(cell) or {}).get("metrics", {}) if cell is not None else {}
    tasks = {task: task_score(task, paths.read(cell)) for task, cell in cells.tasks.items()}
    if tasks and None not in tasks.values():
        tasks["average"] = float(np.mean([value for value in tasks.values() if value is not None]))
    sizes = model_sizes(cells.model) if cells.model is not None else {}
    return finite(found) | sizes | (recipe_settings(cells.recipe) if cells.recipe else {}) | tasks


def model_sizes(cell: Cell) -> dict[Metric, float]:
    """The parameters of the encoder with its pooler, as the paper counts them, and what they follow from."""
    model = PretrainRun.parse(cell.settings, where=cell.key).model
    sizes = {name: float(getattr(model, name)) for name in SIZES}
    return {"parameters": float(parameter_counts(model).encoder_and_pooler), **sizes}


def recipe_settings(recipe: str) -> dict[Metric, float | None]:
    """The settings of a fine-tuning recipe that table 14 of the paper has."""
    run = load_finetune_config(recipe, given={"model": "(any)", "data": {"train": "(any)"}})
    warmup = run.train.warmup
    return {
        "learning_rate": run.train.learning_rate,
        "batch_size": run.batch_size,
        "hidden_dropout_prob": run.hidden_dropout_prob,
        "classifier_dropout_prob": run.classifier_dropout_prob,
        "steps": run.train.duration.amount,
        "warmup_steps": warmup.amount if isinstance(warmup, Duration) else None,  # else a share of the steps
        "max_length": run.max_length,
    }


def task_score(task: str, record: Mapping[str, Any] | None) -> float | None:
    """The score of a task in percent; of SQuAD the mean of F1 and exact match, as in the paper's averages.

    None without a result, for one that is not a number, as of a run that diverged, or for a baseline that the task does
    not have.
    """
    if record is None:
        return None
    names = benchmark_task(task).metrics
    metrics = finite(record["metrics"])
    counted = names if set(names) == {"answer_f1", "exact_match"} else names[:1]
    values = [metrics.get(name) for name in counted]
    return None if None in values else float(np.mean(values))


def all_cells(rows: Sequence[RowCells]) -> list[Cell]:
    """Every cell of some rows."""
    return [cell for row in rows for cell in row.all()]
