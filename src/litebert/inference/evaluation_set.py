"""Labelled examples that are encoded once for any number of evaluations."""

import math
from dataclasses import dataclass, replace
from typing import Self

from litebert.inference.task_pipeline import ALONE, TaskPipeline, Workers, warn_truncated
from litebert.tasks.encoded import Encoded
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from litebert.tasks.task_inference import Prediction
from litebert.tasks.types.task_type import ErrorExample


@dataclass(frozen=True)
class EvaluationSet:
    """Labelled examples, encoded once for any number of evaluations."""

    task: Task
    data: LabelledData
    encoded: Encoded

    @classmethod
    def prepare(cls, data: LabelledData, task: Task, pipeline: TaskPipeline) -> Self:
        """The examples of `data`, encoded as the pipeline reads them."""
        return cls(task, data, pipeline.encode(data.examples))

    @property
    def undefined(self) -> Evaluation:
        """The evaluation of a model whose outputs are not finite: every metric is NaN."""
        return Evaluation(metrics=dict.fromkeys(self.task.metrics, math.nan), examples=len(self.data.examples))

    def warn_truncated(self, settings: InputSettings) -> None:
        """Warn of examples that `settings` truncate."""
        warn_truncated(self.data.path, self.encoded.num_truncated, rows=len(self.data.examples), settings=settings)

    def score(self, pipeline: TaskPipeline, *, workers: Workers = ALONE) -> Scored:
        """Every metric of the task."""
        return self.score_predictions(pipeline, pipeline.predict_encoded(self.encoded, workers=workers))

    def score_predictions(self, pipeline: TaskPipeline, predictions: list[Prediction]) -> Scored:
        """Every metric of the task, for predictions that may be those of an ensemble."""
        lengths = self.encoded.example_lengths
        return pipeline.task_type.evaluate(self.task, predictions, self.data, lengths, pipeline.settings)

    def errors(self, pipeline: TaskPipeline, predictions: list[Prediction], scored: Scored) -> list[ErrorExample]:
        """Every example with its prediction and its place in the file."""
        errors = pipeline.task_type.error_examples(self.task, predictions, self.data, scored)
        return [replace(error, place=place) for error, place in zip(errors, self.data.places, strict=True)]
