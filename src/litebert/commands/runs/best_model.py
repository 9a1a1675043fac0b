"""The best model of a training run, evaluated and saved while the run continues."""

import logging
import math
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from litebert.files import EVALUATION, finite, json_bytes, read_json_object
from litebert.training.callbacks.callback import Callback, RunState, metric_of
from litebert.training.distributed.context import DistributedContext
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)


class HasMetrics(Protocol):
    """An evaluation of any kind."""

    @property
    def metrics(self) -> Mapping[str, Number]:
        """Metrics by name."""
        ...


@dataclass(frozen=True)
class Metrics:
    """An evaluation that consists of metrics only."""

    metrics: Mapping[str, Number]


E = TypeVar("E", bound=HasMetrics)


class BestModel(Callback, Generic[E]):
    """Evaluates a model in training and saves it whenever it is better than before.

    Call `evaluate` on every process and pass the object as a callback. The evaluation is saved beside the model, so a
    resumed run knows its best. One of a later step than that of the checkpoint is forgotten: the run does not have that
    step any more, and with other settings it does not come to that model again. The best model before it is kept until
    a checkpoint of the new one's step is on disk, and is the best again.
    """

    every_rank = True

    def __init__(
        self,
        evaluate: Callable[[nn.Module], E],
        *,
        metric: str,
        greater_is_better: bool,
        directory: Path,
        world: DistributedContext,
        save: Callable[[nn.Module, E, int], object],
        gather: Callable[[nn.Module], nn.Module] = lambda model: model,
        earlier: Path | None = None,
        measured_on: str = "",
    ) -> None:
        """`save` gets the best model, its evaluation and its step, and writes model and `EVALUATION` in `directory`.

        That file has `step` and `metrics`, and what else a command adds.

        The best model of a finished run which continues is in `earlier`. `measured_on` identifies the examples: a best
        score on others is forgotten.
        """
        self._evaluate, self._metric, self._save, self._gather = evaluate, metric, save, gather
        self._greater_is_better = greater_is_better
        self._directory, self._before = directory, directory.with_name(f".{directory.name}.before")
        self._files = [place / EVALUATION for place in (directory, earlier) if place is not None]
        self._world, self._saves, self._measured_on = world, world.rank == 0, measured_on
        self._best: tuple[float, int] | None = world.on_rank_zero(self._saved_score)
        """Score and step."""
        self._checkpoint_step = 0
        """Of the newest checkpoint on disk."""
        self._new_best: float | None = None
        """Of the evaluation that `on_evaluate` is to follow."""
        self._pending: tuple[nn.Module, E] | None = None

    def evaluate(self, model: nn.Module) -> Mapping[str, Number]:
        """The metrics of `model`."""
        evaluation = self._evaluate(model)
        value = self._score(evaluation.metrics)
        if self._best is None or value > self._best[0]:
            self._new_best = value
            best = self._gather(model)  # on every process, and kept where it is saved
            self._pending = (best, evaluation) if self._saves else None
        return evaluation.metrics

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Save the model after an evaluation that was the best."""
        before = self._best
        if self._new_best is not None:
            self._best, self._new_best = (self._new_best, run.progress.step), None
        if self._pending is None:
            return
        (model, evaluation), self._pending = self._pending, None
        step = run.progress.step
        if before is not None and before[1] <= self._checkpoint_step and self._directory.exists():
            shutil.rmtree(self._before, ignore_errors=True)
            shutil.copytree(self._directory, self._before, copy_function=_link)
        self._save(model, evaluation, step)
        logger.info("step %d: %s %.4f, the best so far", step, self._metric, evaluation.metrics[self._metric])

    def on_checkpoint(self, run: RunState, path: Path, step: int) -> None:
        """The best model of a step up to here stays the run's: the one before it is not needed any more."""
        self._checkpoint_step = step
        if self._saves and self._best is not None and self._best[1] <= step:
            shutil.rmtree(self._before, ignore_errors=True)

    def on_train_begin(self, run: RunState) -> None:
        """Return to the best model before one that the run does not have any more, or forget that one."""
        self._checkpoint_step = run.progress.step
        if self._best is None or self._best[1] > run.progress.step:
            self._best = self._world.on_rank_zero(lambda: self._restored(run.progress.step))

    def on_rollback(self, run: RunState) -> None:
        """As `on_train_begin`."""
        self.on_train_begin(run)

    def _restored(self, step: int) -> tuple[float, int] | None:
        """Score and step of the best model before, in its place again; None without one of a step up to `step`."""
        if not (self._before / EVALUATION).exists():
            return None
        shutil.rmtree(self._directory, ignore_errors=True)
        self._before.rename(self._directory)
        found = self._saved_score()
        return found if found is not None and found[1] <= step else None

    def _score(self, metrics: Mapping[str, Number]) -> float:
        """Greater is better; NaN is worse than any number."""
        value = metric_of(metrics, self._metric)
        return -math.inf if math.isnan(value) else value if self._greater_is_better else -value

    def _saved_score(self) -> tuple[float, int] | None:
        file = next((file for file in self._files if file.exists()), None)
        if file is None:
            return None
        saved = read_json_object(file, if_missing="start in a new directory")
        if saved.get("measured_on", self._measured_on) != self._measured_on:
            logger.warning("%s: the validation examples are others now; the next evaluation replaces it", file)
            return None
        metrics = {name: math.nan if value is None else value for name, value in saved["metrics"].items()}
        return self._score(metrics), saved.get("step", 0)


def _link(file: str, other: str) -> None:
    """A hard link, as a save writes new files in the place of old ones; a copy where the file system has no links."""
    try:
        os.link(file, other)
    except OSError:
        shutil.copy2(file, other)


def evaluation_file(values: Mapping[str, Any]) -> dict[str, bytes]:
    """The file that a saved model needs beside it; null for scores that are not a number."""
    return {EVALUATION: json_bytes(finite(values))}


def step_of_best(directory: Path) -> int:
    """The step of the best model in a directory; 0 without its evaluation, which earlier versions did not write."""
    file = directory / EVALUATION
    return read_json_object(file, if_missing="").get("step", 0) if file.exists() else 0
