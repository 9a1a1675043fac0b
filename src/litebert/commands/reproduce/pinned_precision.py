"""One precision for all runs of a table whose settings leave it to be measured.

`train.precision: auto` measures the fastest precision, and measurements on a busy machine differ. The first choice is
kept in `OUT/precision.json`, so that a table that is resumed, also on another machine, does not mix precisions.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, get_args

from litebert.commands.compute import with_measured_precision
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.reproduce.cells import Cell
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.errors import CheckpointError
from litebert.files import RUN_SETTINGS, read_json_object, write_json
from litebert.settings import TrainingPrecision, read_yaml
from litebert.training.distributed.context import DistributedContext

logger = logging.getLogger(__name__)

AUTO: Final = "auto"
FILE: Final = "precision.json"


def with_one_precision(cells: Sequence[Cell], paths: CellPaths) -> list[Cell]:
    """The cells; those whose precision is to be measured have the recorded one instead. Their names do not change.

    If `OUT/precision.json` is missing, it is written: with the precision of the first of these runs that has already
    started, or, if none has, with the fastest one for the first pretraining run.
    """
    undecided = [cell for cell in cells if _leaves_it_open(cell)]
    if not undecided:
        return list(cells)
    file = paths.path / FILE
    if not file.exists():
        (paths.path / "cells").mkdir(parents=True, exist_ok=True)  # by which a directory of tables is recognized
        write_json(file, {"precision": _of_a_run(undecided, paths) or _measured(cells)})
    precision = read_json_object(file, if_missing="run the command again").get("precision")
    if not isinstance(precision, str) or precision not in get_args(TrainingPrecision):
        raise CheckpointError(f"{file}: has no precision; remove it, and the same command writes it anew")
    logger.info("train.precision: %s for all runs that leave it open (%s)", precision, file)
    return [_with_precision(cell, precision) if _leaves_it_open(cell) else cell for cell in cells]


def _with_precision(cell: Cell, precision: str) -> Cell:
    return replace(cell, settings={**cell.settings, "train": {**cell.settings["train"], "precision": precision}})


def _leaves_it_open(cell: Cell) -> bool:
    return cell.kind in ("pretrain", "finetune") and cell.settings["train"]["precision"] == AUTO


def _of_a_run(cells: Sequence[Cell], paths: CellPaths) -> str | None:
    files = [paths.run(cell) / RUN_SETTINGS for cell in cells]
    return next((read_yaml(file)["train"]["precision"] for file in files if file.exists()), None)


def _measured(cells: Sequence[Cell]) -> str:
    """The precision of the first pretraining run, which every table has: the fastest for it, unless it names one."""
    cell = next(cell for cell in cells if cell.kind == "pretrain")
    run = PretrainRun.parse(cell.settings, where=cell.key)
    return with_measured_precision(run, run.model, DistributedContext.current()).train.precision
