"""The scores of a table: row by metric by seed, from the results of its cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from litebert.commands.reproduce.cells import Cell, RowCells
from litebert.commands.reproduce.paper_tables import Metric
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.tasks.benchmarks.benchmarks import benchmark_task


@dataclass(frozen=True)
class Scores:
    """What is known of a table."""

    values: dict[str, dict[Metric, list[float | None]]]
    """Row → metric → one value a seed; None where the cell has no result."""
    records: dict[str, list[dict[str, Any]]]
    """Row → the results of its pretrained models or, in figure 1, of its layers."""

    def of(self, row: str, metric: Metric) -> list[float | None]:
        """One value a seed; empty if the metric was not measured."""
        return self.values.get(row, {}).get(metric, [])


def scores_of(rows: Sequence[RowCells], paths: CellPaths) -> Scores:
    """The scores of the finished cells."""
    values: dict[str, dict[Metric, list[float | None]]] = {}
    records: dict[str, list[dict[str, Any]]] = {}
    for cells in rows:
        of_row = values.setdefault(cells.row, {})
        found = _metrics(cells, paths)
        for metric in dict.fromkeys((*of_row, *found)):
            seeds_before = sum(each.row == cells.row and each.seed < cells.seed for each in rows)
            missing: list[float | None] = [None] * seeds_before
            of_row.setdefault(metric, missing).append(found.get(metric))
        for cell in (cells.model, cells.layers):
            if cell is not None and (record := paths.read(cell)):
                records.setdefault(cells.row, []).append(record)
    return Scores(values, records)


def _metrics(cells: RowCells, paths: CellPaths) -> dict[Metric, float | None]:
    found: dict[Metric, float | None] = {}
    for cell in (cells.model, cells.layers):
        found |= (paths.read(cell) or {}).get("metrics", {}) if cell is not None else {}
    tasks = {task: task_score(task, paths.read(cell)) for task, cell in cells.tasks.items()}
    if len(tasks) > 1 and None not in tasks.values():
        tasks["average"] = float(np.mean([value for value in tasks.values() if value is not None]))
    return found | tasks


def task_score(task: str, record: Mapping[str, Any] | None) -> float | None:
    """The score of a task in percent; of SQuAD the mean of F1 and exact match, as in the paper's averages."""
    if record is None:
        return None
    names = benchmark_task(task).metrics
    metrics = record["metrics"]
    if set(names) == {"answer_f1", "exact_match"}:
        return float(np.mean([metrics[name] for name in names]))
    return metrics[names[0]]


def all_cells(rows: Sequence[RowCells]) -> list[Cell]:
    """Every cell of some rows."""
    return [cell for row in rows for cell in row.all()]
