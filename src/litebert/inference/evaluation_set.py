"""Labelled examples on which models are evaluated."""

from dataclasses import dataclass
from typing import Self

from litebert.inference.pipeline import ALONE, Pipeline, Workers
from litebert.tasks.encoded import Encoded
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.types.task_type import ErrorExample, Prediction, Scored


@dataclass(frozen=True)
class EvaluationSet:
    """Labelled examples, encoded once for any number of evaluations."""

    task: Task
    data: LabelledData
    encoded: Encoded

    @classmethod
    def prepare(cls, data: LabelledData, task: Task, pipeline: Pipeline) -> Self:
        """The examples of `data`, encoded as the pipeline reads them."""
        return cls(task, data, pipeline.encode(data.examples))

    def score(self, pipeline: Pipeline, *, workers: Workers = ALONE) -> Scored:
        """Every metric of the task."""
        return self.score_predictions(pipeline, pipeline.predict_encoded(self.encoded, workers=workers))

    def score_predictions(self, pipeline: Pipeline, predictions: list[Prediction]) -> Scored:
        """Every metric of the task, for predictions that may be those of an ensemble."""
        lengths = self.encoded.example_lengths
        return pipeline.task_type.evaluate(self.task, predictions, self.data, lengths, pipeline.settings)

    def errors(self, pipeline: Pipeline, predictions: list[Prediction], scored: Scored) -> list[ErrorExample]:
        """Every example with its prediction."""
        return pipeline.task_type.error_examples(self.task, predictions, self.data, scored)
