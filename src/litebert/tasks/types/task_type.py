"""`TaskType`: everything litebert knows about one type of fine-tuning task.

A task type is one object. Fine-tuning, evaluation, prediction and ensembles use it through these fields only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from litebert.model.io.model_spec import ModelName, ProblemType
from litebert.tasks.encoded import Encoded, Inputs, LabelledBatch
from litebert.tasks.ensembling.averaging import mean
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.output_formats import OutputFormat
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import Table
from litebert.tasks.task import ClassWeights, InvalidAnswers, Task
from litebert.tokenization.tokenizer import Tokenizer

Prediction = Any
"""What a model predicts for one example: probabilities, a score or span scores. Predictions can be averaged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How a labelled file is read."""

    task_type: str | None = None
    """None: decided from the content."""
    labels: Sequence[str] | None = None
    """The labels of training, where others are an error; None: the labels of the file."""
    invalid_answers: InvalidAnswers = "error"
    """What to do with an answer that its context does not contain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadResult:
    """The examples of a labelled file."""

    examples: Sequence[Any]
    labels: tuple[str, ...] | None = None
    lines: Sequence[int] | None = None
    """Line of each example, from 1; None: examples have ids instead."""
    task_type: str | None = None
    """The task type, where the content decides between several."""
    reason: str | None = None
    """Why it is this task type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFormat:
    """A file format without named columns, such as CoNLL columns or SQuAD's JSON."""

    suffixes: tuple[str, ...]
    """Endings of its file names, such as `.json`."""
    read: Callable[[Path, ReadOptions], ReadResult]
    """The labelled examples of a file."""
    has_labels: Callable[[Path], bool]
    iter_inputs: Callable[[Path], Iterator[Any]]
    """The examples without labels, one by one."""
    output_format: Callable[[Path, Path], OutputFormat] | None = None
    """(input, output) → how predictions are written to the file `output`; raises ConfigError for a wrong ending."""
    write_directory: Callable[[Path, Sequence[Any], Sequence[Any]], None] | None = None
    """(directory, examples, results): write the predictions, where the format has several files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleReader:
    """How examples are read."""

    guess: Callable[[Table, Columns], str | None]
    """Why a labelled table looks like this task type; None if it does not. Called in the order of the registry."""
    read: Callable[[Table, Columns, ReadOptions], ReadResult]
    """The labelled examples of a table."""
    read_inputs: Callable[[Table, Columns], Sequence[Any]]
    """The examples of a table without labels, for prediction."""
    label_column: Callable[[Table, Columns], str] = lambda table, columns: columns.names().label
    """The column with the labels, which an unlabelled table lacks."""
    saves_columns: bool = True
    """Whether a model remembers the columns of its training data."""
    input_columns: tuple[str, ...] = ("text", "text_pair")
    """Fields of `Columns` that `read_inputs` uses."""
    file_format: FileFormat | None = None


@dataclass(frozen=True, slots=True)
class LossSums:
    """What the task type's loss gives for one microbatch: sums, never means."""

    losses: dict[str, Tensor]
    """Summed loss by name."""
    correct: dict[str, Tensor]
    """Number of correct predictions by name; empty for regression."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What fine-tuning minimizes."""

    counts: Callable[[LabelledBatch], dict[str, int]]
    """How many labels each loss sums over, from the labels alone."""
    sums: Callable[[nn.Module, LabelledBatch, Tensor | None], LossSums]
    """(model, batch, class weights) → summed losses under the names of `counts`."""
    class_weights: Callable[[ClassWeights, LabelledData], np.ndarray] | None = None
    """Weights of the labels, Float64 [C], from the setting and the training data; None: not supported."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Predictions evaluated against labels."""

    evaluation: Evaluation
    predicted: Any
    """For each example, as the metrics take it."""
    targets: Any
    """For each example, as the metrics take it."""


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """One example with its prediction, for the error analysis."""

    text: str
    expected: str
    predicted: str
    loss: float
    """How wrong the prediction is; larger is worse."""
    is_correct: bool


class Result(ABC):
    """A prediction for users: label names instead of indices, text instead of positions."""

    __slots__ = ()

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The columns that `predict` adds to an input row; `prediction` is the first."""

    @property
    def counts(self) -> dict[str, int]:
        """Numbers that `predict` adds up over all rows, such as entities."""
        return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class CardEntry:
    """The task type's part of a model card and the method of `Predictor` that serves it."""

    title: str
    pipeline_tag: str
    """The task's name on the Hugging Face hub."""
    method: str = "predict"
    """Method of `Predictor`."""
    argument: str = "examples"
    """Argument of the method in the model card's example."""
    pair_argument: str | None = None
    """The same for pairs of texts, where it differs."""
    goal: Callable[[Task], str] = lambda task: task.task_type.replace("_", " ")
    """What the model was fine-tuned for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskType:
    """One type of fine-tuning task."""

    name: str
    model: ModelName
    """Class of `litebert.model.models`."""
    head: tuple[str, ...]
    """Modules of the model that a pretrained encoder lacks; they are initialized randomly."""
    problem_type: ProblemType | None = None
    """The name that transformers uses for it in `config.json`, if any."""
    has_labels: bool = False
    """Whether predictions have label names on their last axis."""
    metrics: tuple[str, ...]
    """Default metrics; the first selects the best model."""
    other_metrics: tuple[str, ...] = ()
    """Further metrics that apply."""
    settings: type[InputSettings] = InputSettings
    reader: ExampleReader
    encode: Callable[[Sequence[Any], Tokenizer, Any], Encoded]
    """(examples, tokenizer, settings) → sequences."""
    loss: Loss
    forward: Callable[[nn.Module, Inputs], Sequence[Any]]
    """Run the model on a batch; the output for each sequence, on the CPU."""
    predict: Callable[[Any, Any, type[np.floating]], Prediction]
    """(output of one example, settings, dtype) → prediction; `dtype` is float64 for ensembles, else float32."""
    average: Callable[[Sequence[Prediction]], Prediction] = mean
    """The prediction of an ensemble for one example, from those of its members."""
    decode: Callable[[Prediction, Any, Sequence[str], Any], Result]
    """(prediction, example, labels, settings) → result."""
    evaluate: Callable[[Task, Sequence[Prediction], LabelledData, np.ndarray, Any], Scored]
    """(task, predictions, data, length of each example, settings) → scores."""
    error_examples: Callable[[Task, Sequence[Prediction], LabelledData, Scored], list[ErrorExample]]
    collapse: Callable[[Mapping[str, Any]], str | None]
    """Why a model with this evaluation has collapsed, that is, learned nothing; None if it has not."""
    card: CardEntry

    @property
    def all_metrics(self) -> tuple[str, ...]:
        """Every metric that applies."""
        return (*self.metrics, *self.other_metrics)
