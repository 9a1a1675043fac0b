"""A fine-tuned model scored on labelled examples, and the best one of a run kept.

Before: `tasks.reading` and a model. After: `finetune`, and the verb `evaluate` on labelled files.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from litebert.errors import CheckpointError
from litebert.inference.batching import outputs_of
from litebert.settings import Precision
from litebert.tasks.encoded import Encoded
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.metrics.metrics import check_metrics
from litebert.tasks.task_type import Task
from litebert.tasks.types.registry import KINDS
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback, RunState
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.precision import autocast
from litebert.training.protocols import Number

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelledSet:
    """Labelled examples, ready to score models on."""

    task: Task
    data: LabelledData
    encoded: Encoded

    @classmethod
    def prepare(cls, data: LabelledData, task: Task, tokenizer: Tokenizer, *, max_length: int) -> "LabelledSet":
        """The examples of `data` as the model reads them."""
        return cls(task, data, KINDS[task.kind].encode(data.examples, tokenizer, max_length=max_length))

    def outputs(
        self, model: nn.Module, *, world: DistributedContext, precision: Precision = "fp32"
    ) -> list[np.ndarray]:
        """What the model gives for each sequence; the processes of `world` share the work, and all get the same."""
        with autocast(precision, world.device):
            own = outputs_of(model, self.encoded, KINDS[self.task.kind].outputs, rank=world.rank, world_size=world.size)
        gathered: dict[int, np.ndarray] = {}
        for rank, part in enumerate(world.gather(own)):
            gathered.update(zip(range(rank, len(self.encoded), world.size), part, strict=True))
        return [gathered[index] for index in range(len(self.encoded))]

    def score(self, model: nn.Module, *, world: DistributedContext, precision: Precision = "fp32") -> Evaluation:
        """Every metric of the task."""
        outputs = self.outputs(model, world=world, precision=precision)
        return KINDS[self.task.kind].evaluate(self.task, outputs, self.data, self.encoded)


def task_of(data: LabelledData, text: tuple[str, str | None], label: str, metrics: Sequence[str]) -> Task:
    """The task of some data; without `metrics`, those usual for its kind. The first one selects."""
    names = tuple(metrics) or KINDS[data.kind].metrics
    check_metrics(names, kind=data.kind, num_labels=len(data.labels or ()))
    columns = tuple(column for column in text if column is not None)
    return Task(
        kind=data.kind, text=columns, label=label, labels=data.labels, metrics=names, metric_for_best_model=names[0]
    )


class BestModel(Callback):
    """Evaluates a model in training, and saves it whenever its evaluation is the best so far.

    `save` writes a model directory with the file `EVALUATION` in it, which is how a resumed run knows its best.
    """

    EVALUATION = "evaluation.json"

    def __init__(
        self,
        rows: LabelledSet,
        directory: Path,
        *,
        world: DistributedContext,
        precision: Precision,
        save: Callable[[dict[str, Any]], None],
    ) -> None:
        self._rows = rows
        self._file = directory / self.EVALUATION
        self._world = world
        self._precision: Precision = precision
        self._save = save
        self._newest: Evaluation | None = None

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metrics, for the records of the run."""
        self._newest = self._rows.score(model, world=self._world, precision=self._precision)
        return self._newest.metrics

    def on_evaluate(self, run: RunState, metrics: Mapping[str, Number]) -> None:
        """Save the model if its evaluation is the best."""
        if self._newest is None:
            return
        name = self._rows.task.metric_for_best_model
        best = self.newest_kept()
        if best is None or self._newest.metrics[name] > best["metrics"][name]:
            self._save({"step": run.progress.step, "selected_by": name, **self._newest.to_dict()})
            logger.info("step %d: %s, the best so far", run.progress.step, self._newest.to_text().splitlines()[0])

    def newest_kept(self) -> dict[str, Any] | None:
        """The evaluation beside the kept model, with its `step`; None before the first."""
        if not self._file.exists():
            return None
        try:
            return json.loads(self._file.read_text(encoding="utf-8"))
        except ValueError:
            raise CheckpointError(f"{self._file}: damaged: not JSON; start in a new directory") from None

    def kept(self) -> dict[str, Any]:
        """The evaluation beside the kept model at the end of a run."""
        evaluation = self.newest_kept()
        if evaluation is None:
            raise CheckpointError(f"{self._file}: missing, though the run is at its end; start in a new directory")
        return evaluation
