"""A classifier or regressor scored on labelled rows, and the best one of a run kept.

Before: `tasks.delimited` and a model. After: `finetune`, and the verb `evaluate` on a labelled file.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from litebert.errors import CheckpointError, ConfigError
from litebert.inference.batching import classifier_logits
from litebert.model.directory import load_model, read_description
from litebert.runs.result import Result
from litebert.tasks.delimited import LabelledData, read_labelled
from litebert.tasks.features import Feature, encode, targets_of
from litebert.tasks.metrics import DEFAULTS, check_metrics, confusion_matrix, measure, wilson_interval
from litebert.tasks.task import Kind, Task
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.events import Evaluated, Event
from litebert.training.parallel import World
from litebert.training.precision import autocast
from litebert.training.settings import Precision

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evaluation(Result):
    """What a model scored on labelled rows."""

    metrics: dict[str, float]
    examples: int
    accuracy_interval: tuple[float, float] | None
    """Wilson's 95 % interval of the accuracy; None for a regression."""
    labels: tuple[str, ...] | None
    confusion_matrix: list[list[int]] | None
    """Counts by [true label][predicted label]."""

    def to_text(self) -> str:
        """One line for a person."""
        figures = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        if self.accuracy_interval is None:
            return f"{figures} on {self.examples:,} rows"
        low, high = self.accuracy_interval
        return f"{figures} on {self.examples:,} rows (accuracy, 95 % interval: {low:.1%} to {high:.1%})"


@dataclass(frozen=True)
class LabelledSet:
    """Labelled rows, ready to score models on."""

    task: Task
    features: Sequence[Feature]
    targets: np.ndarray
    pad_id: int

    @classmethod
    def prepare(cls, data: LabelledData, task: Task, tokenizer: Tokenizer, *, max_length: int) -> "LabelledSet":
        """The rows of `data` as the model reads them."""
        texts = [(example.text, example.text_pair) for example in data.examples]
        features = encode(texts, tokenizer, max_length=max_length)
        return cls(task, features, targets_of(data), tokenizer.pad_id)

    def score(self, model: nn.Module, *, world: World, precision: Precision = "fp32") -> Evaluation:
        """Every metric of the task; the processes of `world` share the rows, and all get the same."""
        with autocast(precision, world.device):
            own = classifier_logits(model, self.features[world.rank :: world.size], pad_id=self.pad_id)
        parts = world.gather(own)
        logits = np.zeros((len(self.features), self.task.num_outputs), dtype=np.float32)
        for rank, part in enumerate(parts):
            logits[rank :: world.size] = part.reshape(-1, self.task.num_outputs)
        return evaluation_of(self.task, logits, self.targets)


def evaluation_of(task: Task, logits: np.ndarray, targets: np.ndarray) -> Evaluation:
    """Logits [N, C] against label indices [N], or scores [N, 1] against scores [N]."""
    if task.labels is None:
        return Evaluation(measure(task.metrics, logits[:, 0], targets), len(targets), None, None, None)
    predictions = logits.argmax(-1)
    return Evaluation(
        metrics=measure(task.metrics, predictions, targets),
        examples=len(targets),
        accuracy_interval=wilson_interval(int((predictions == targets).sum()), len(targets)),
        labels=task.labels,
        confusion_matrix=confusion_matrix(predictions, targets, num_labels=len(task.labels)),
    )


def evaluate_labelled(
    model: Path,
    file: Path,
    *,
    text: str = "text",
    text_pair: str | None = None,
    label: str = "label",
    metrics: Sequence[str] = (),
) -> Evaluation:
    """Score a fine-tuned model directory on a labelled file; the labels are those of the model."""
    description = read_description(model)
    if description.model != "ForSequenceClassification":
        raise ConfigError(f"{model}: a {description.model} has no labels; give a model directory from `finetune`")
    kind: Kind = "regression" if description.problem_type == "regression" else "classification"
    labels = None if kind == "regression" else description.labels
    task = task_of((text, text_pair), label, labels, metrics)
    data = read_labelled(file, text=text, text_pair=text_pair, label=label, kind=kind, labels=labels)
    tokenizer = Tokenizer.load(model)
    rows = LabelledSet.prepare(data, task, tokenizer, max_length=description.config.max_position_embeddings)
    world = World.current()
    return rows.score(load_model(model).to(world.device), world=world)


def task_of(text: tuple[str, str | None], label: str, labels: tuple[str, ...] | None, metrics: Sequence[str]) -> Task:
    """The task of some columns; without `metrics`, those usual for its kind. The first one selects."""
    kind: Kind = "regression" if labels is None else "classification"
    names = tuple(metrics) or DEFAULTS[kind]
    check_metrics(names, kind=kind, num_labels=len(labels or ()))
    columns = tuple(column for column in text if column is not None)
    return Task(text=columns, label=label, labels=labels, metrics=names, select_by=names[0])


class BestModel:
    """Scores a model in training and keeps the best so far: `measure` on every process, the listener on the first.

    `save` writes a model directory with the file `EVALUATION` in it, which is how a resumed run knows its best.
    """

    EVALUATION = "evaluation.json"

    def __init__(
        self,
        rows: LabelledSet,
        directory: Path,
        *,
        world: World,
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

    def __call__(self, event: Event) -> None:
        """Keep the model if its evaluation is the best."""
        if not isinstance(event, Evaluated) or self._newest is None:
            return
        name = self._rows.task.select_by
        best = self.newest_kept()
        if best is None or self._newest.metrics[name] > best["metrics"][name]:
            self._save({"step": event.position.step, "selected_by": name, **self._newest.to_dict()})
            logger.info("step %d: %s, the best so far", event.position.step, self._newest.to_text())

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
