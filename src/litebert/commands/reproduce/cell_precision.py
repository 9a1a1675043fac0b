"""One precision for all runs of a table whose settings leave it to be measured, as `kept_precision` describes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.reproduce.cells import Cell
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.commands.runs.run_precision import kept_precision, with_measured_precision
from litebert.training.distributed.context import DistributedContext

AUTO: Final = "auto"


def cells_with_one_precision(cells: Sequence[Cell], paths: CellPaths) -> list[Cell]:
    """The cells; those whose precision is to be measured have the kept one instead. Their names do not change.

    What is kept is the fastest one for the first pretraining run.
    """
    undecided = [cell for cell in cells if _leaves_it_open(cell)]
    if not undecided:
        return list(cells)
    (paths.path / "cells").mkdir(parents=True, exist_ok=True)  # by which a directory of tables is recognized
    precision = kept_precision(paths.path, map(paths.run, undecided), lambda: _measured(cells))
    return [_with_precision(cell, precision) for cell in cells]


def _with_precision(cell: Cell, precision: str) -> Cell:
    """The cell with this precision if its own is open, and so those that it needs, which may have to run again."""
    needs = tuple(_with_precision(each, precision) for each in cell.needs)
    if not _leaves_it_open(cell):
        return replace(cell, needs=needs)
    settings = {**cell.settings, "train": {**cell.settings["train"], "precision": precision}}
    return replace(cell, settings=settings, needs=needs)


def _leaves_it_open(cell: Cell) -> bool:
    return cell.kind in ("pretrain", "finetune") and cell.settings["train"]["precision"] == AUTO


def _measured(cells: Sequence[Cell]) -> str:
    """The precision of the first pretraining run, which every table has: the fastest for it, unless it names one."""
    cell = next(cell for cell in cells if cell.kind == "pretrain")
    run = PretrainRun.parse(cell.settings, where=cell.key)
    return with_measured_precision(run, run.model, DistributedContext.current()).train.precision
