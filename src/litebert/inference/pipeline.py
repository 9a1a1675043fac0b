"""The prediction pipeline: examples → sequences → batches of similar length → the model → predictions.

Evaluation, prediction, ensembles, submission files and `Predictor` all use it.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from torch import nn

from litebert.errors import ConfigError, NotFiniteError
from litebert.inference.inference_model import inference_model, resolve_precision
from litebert.model.io.model_directory import load_model
from litebert.model.io.model_spec import read_model_spec
from litebert.model.model_inputs import ModelInputs
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, batches_by_length, warn_empty
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task, UnlabelledRows
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from litebert.tasks.read_labelled import read_labelled, validate_columns_apply
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import DecodedPrediction, reorder_labels
from litebert.tasks.task_inference import Prediction
from litebert.tasks.types.registry import task_type_of
from litebert.tasks.types.task_type import ErrorExample, ReadOptions, TaskType
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

TOKENS_PER_BATCH: Final = 4096
"""Padded tokens of a batch: bounds the memory for any lengths."""
MIN_TOKENS_PER_BATCH: Final = 512
"""Below, the calls of operators cost more than the cache saves."""
CACHED_ELEMENTS: Final = 2**20
"""Elements of the hidden states of a batch on a CPU."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that share the work; by default this one alone."""

    rank: int = 0
    size: int = 1
    gather: Callable[[Any], list[Any]] = lambda value: [value]
    """The value of every rank, in the order of ranks."""


ALONE: Final = Workers()


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """One fine-tuned model with everything that its predictions depend on."""

    model: nn.Module
    tokenizer: Tokenizer
    task_type: TaskType
    labels: tuple[str, ...]
    """Label names in the order of the model."""
    settings: InputSettings
    precision: InferencePrecision = "fp32"
    dtype: type[np.floating] = np.float32
    """Of probabilities; float64 for the members of an ensemble."""
    place: str = "the model"
    """What messages call it: its directory, if it was loaded from one."""
    saved_task: SavedTask | None = None
    """The task that the model was fine-tuned for, with the columns of its data, if its directory names it."""

    @classmethod
    def load(
        cls,
        directory: Path,
        *,
        device: torch.device | str = "cpu",
        precision: InferencePrecision = "fp32",
        dtype: type[np.floating] = np.float32,
    ) -> Self:
        """The model in a directory, with its tokenizer and settings."""
        spec = read_model_spec(directory)
        task_type = task_type_of(directory, spec)
        settings = task_type.settings.stored(directory, max_length=spec.config.max_position_embeddings)
        model = load_model(directory).to(device)
        return cls(
            model=model,
            tokenizer=Tokenizer.load(directory),
            task_type=task_type,
            labels=spec.labels,
            settings=settings,
            precision=resolve_precision(precision, model),
            dtype=dtype,
            place=str(directory),
            saved_task=SavedTask.stored(directory),
        )

    @property
    def task(self) -> str:
        """Name of the task type."""
        return self.task_type.name

    @property
    def method(self) -> str:
        """The method of a `Predictor` for this task."""
        return self.task_type.inference.method

    @property
    def max_length(self) -> int:
        """Longest sequence in tokens."""
        return self.settings.max_length

    @property
    def reads_single_texts(self) -> bool:
        """Whether it was trained on single texts; False where that is not known."""
        return self.saved_task is not None and self.saved_task.reads_single_texts

    @property
    def reads_long_texts(self) -> bool:
        """Whether longer texts are read in windows."""
        return self.settings.reads_long_texts

    def labelled_data(
        self,
        file: Path,
        columns: Columns,
        *,
        unlabelled_rows: UnlabelledRows = "error",
        table: Table | None = None,
    ) -> LabelledData:
        """A labelled file as this model reads it; ConfigError for columns of a file that has none.

        `table` are the rows, where they are in memory; `file` is their file, or their name.
        """
        validate_columns_apply(columns, file)
        options = ReadOptions(
            task_type=self.task_type.name,
            labels=self.labels if self.task_type.has_labels else None,
            unlabelled_rows=unlabelled_rows,
        )
        return read_labelled(file, columns, saved=self.saved_task, options=options, table=table)

    def encode(self, examples: Sequence[Any]) -> Encoded:
        """The sequences of some examples."""
        return self.task_type.inference.encode(examples, self.tokenizer, self.settings)

    def predict(self, examples: Sequence[Any]) -> list[Prediction]:
        """The prediction for each example; that for an empty text is that of the special tokens alone."""
        return self.predict_encoded(self.encode(examples)) if examples else []

    def predict_encoded(self, encoded: Encoded, *, workers: Workers = ALONE) -> list[Prediction]:
        """The prediction for each encoded example; `workers` share the sequences and all get the predictions.

        Raises NotFiniteError, on every worker, if an output of the model is not finite.
        """
        own = model_outputs(
            self.model,
            encoded,
            self.task_type.forward,
            precision=self.precision,
            rank=workers.rank,
            world_size=workers.size,
        )
        outputs: list[Any] = [None] * len(encoded)
        for rank, part in enumerate(workers.gather(own)):
            outputs[rank :: workers.size] = part
        if not all(map(_is_finite, outputs)):
            raise NotFiniteError(self.place)
        return [
            self.task_type.inference.predict(each, self.settings, self.dtype) for each in encoded.by_example(outputs)
        ]

    def results(self, examples: Sequence[Any]) -> list[DecodedPrediction]:
        """The prediction for each example, with label names and texts; warns of empty texts."""
        results, counts = self.results_and_counts(examples)
        warn_empty("texts", counts["empty"], rows=len(examples))
        return results

    def results_and_counts(self, examples: Sequence[Any]) -> tuple[list[DecodedPrediction], Counter[str]]:
        """The prediction for each example, and how many are truncated or empty (`Encoded.text_counts`)."""
        if not examples:
            return [], Counter()
        encoded = self.encode(examples)
        return self.decode(self.predict_encoded(encoded), examples), encoded.text_counts

    def decode(self, predictions: Sequence[Prediction], examples: Sequence[Any]) -> list[DecodedPrediction]:
        """Predictions with label names and texts."""
        pairs = zip(predictions, examples, strict=True)
        return [self.task_type.inference.decode(each, example, self.labels, self.settings) for each, example in pairs]


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

    @property
    def undefined(self) -> Evaluation:
        """The evaluation of a model whose outputs are not finite: every metric is NaN."""
        return Evaluation(metrics=dict.fromkeys(self.task.metrics, math.nan), examples=len(self.data.examples))

    def warn_truncated(self, settings: InputSettings) -> None:
        """Warn of examples that `settings` truncate."""
        warn_truncated(self.data.path, self.encoded.num_truncated, rows=len(self.data.examples), settings=settings)

    def score(self, pipeline: Pipeline, *, workers: Workers = ALONE) -> Scored:
        """Every metric of the task."""
        return self.score_predictions(pipeline, pipeline.predict_encoded(self.encoded, workers=workers))

    def score_predictions(self, pipeline: Pipeline, predictions: list[Prediction]) -> Scored:
        """Every metric of the task, for predictions that may be those of an ensemble."""
        lengths = self.encoded.example_lengths
        return pipeline.task_type.evaluate(self.task, predictions, self.data, lengths, pipeline.settings)

    def errors(self, pipeline: Pipeline, predictions: list[Prediction], scored: Scored) -> list[ErrorExample]:
        """Every example with its prediction and its place in the file."""
        errors = pipeline.task_type.error_examples(self.task, predictions, self.data, scored)
        return [replace(error, place=place) for error, place in zip(errors, self.data.places, strict=True)]


def _is_finite(output: Any) -> bool:
    """Whether all numbers of an output are finite: of an array, or of the arrays and numbers of a tuple."""
    return all(map(_is_finite, output)) if isinstance(output, tuple) else bool(np.isfinite(output).all())


def warn_truncated(path: Path, truncated: int, *, rows: int, settings: InputSettings) -> None:
    """Warn of rows of a file that are longer than a model reads for its task."""
    if truncated:
        logger.warning(
            "%s: %d of %d rows are longer than %d tokens, the max_length of the fine-tuning, and were truncated",
            path,
            truncated,
            rows,
            settings.max_length,
        )


def average_predictions(members: Sequence[Sequence[Prediction]], task_type: TaskType) -> list[Prediction]:
    """The predictions of an ensemble; `members` have predictions for the same examples."""
    if not members or len({len(member) for member in members}) > 1:
        found = ", ".join(str(len(member)) for member in members) or "no member"
        raise ConfigError(f"ensemble: members must have predictions for the same examples; found {found}")
    return [task_type.inference.average(each) for each in zip(*members, strict=True)]


def with_labels(predictions: Sequence[Prediction], pipeline: Pipeline, labels: Sequence[str]) -> list[Prediction]:
    """The predictions of a pipeline with their labels in the order of `labels`."""
    if not pipeline.task_type.has_labels:
        return list(predictions)
    return [reorder_labels(each, labels, pipeline.labels) for each in predictions]


def model_outputs(
    model: nn.Module,
    encoded: Encoded,
    forward: Callable[[nn.Module, ModelInputs], Sequence[Any]],
    *,
    precision: InferencePrecision = "fp32",
    rank: int = 0,
    world_size: int = 1,
) -> list[Any]:
    """The output of `forward` for each sequence, without dropout; for sequences rank, rank + world_size, … only."""
    device = next(model.parameters()).device
    own = np.arange(rank, len(encoded), world_size)
    outputs: list[Any] = [None] * len(own)
    with inference_model(model, precision) as running:
        most = tokens_per_batch(model, device, precision)
        for positions in batches_by_length(encoded.lengths[own], tokens_per_batch=most):
            batch = encoded.inputs(own[positions]).to(device)
            for position, output in zip(positions, forward(running, batch), strict=True):
                outputs[position] = output
    return outputs


def tokens_per_batch(model: Any, device: torch.device, precision: InferencePrecision) -> int:
    """Padded tokens of a batch: on a CPU few enough for its hidden states to stay in the cache."""
    if device.type != "cpu" or not hasattr(model, "config"):
        return TOKENS_PER_BATCH
    # The products of int8 are followed by steps in fp32, which need more room.
    elements = CACHED_ELEMENTS // 2 if precision == "int8" else CACHED_ELEMENTS
    return min(max(elements // model.config.hidden_size, MIN_TOKENS_PER_BATCH), TOKENS_PER_BATCH)
