"""`TaskType`: everything litebert knows about one type of fine-tuning task.

A task type is one object. Fine-tuning, evaluation, prediction and ensembles use it through these fields only.
"""

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from litebert.loss_sums import LossSums
from litebert.model.io.model_spec import ModelName, ProblemType
from litebert.model.model_inputs import ModelInputs
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.input_settings import InputSettings, TextInputSettings
from litebert.tasks.labelled_data import (
    ClassWeights,
    Example,
    InvalidAnswers,
    LabelledData,
    Target,
    Task,
    UnlabelledRows,
)
from litebert.tasks.metrics.evaluation import Evaluation, Scored, parts, parts_by_length
from litebert.tasks.metrics.metrics import measure, metrics_of_parts, take
from litebert.tasks.output_formats import OutputFormat
from litebert.tasks.prediction_files.prediction_columns import PredictionReader
from litebert.tasks.readers.columns import Columns, group_and_slice
from litebert.tasks.readers.tables import Table
from litebert.tasks.task_inference import Prediction, TaskInference

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How a labelled file is read."""

    task_type: str | None = None
    """None: decided from the content."""
    labels: Sequence[str] | None = None
    """The labels of training, where others are an error; None: the labels of the file."""
    invalid_answers: InvalidAnswers = "error"
    """What to do with an answer that its context does not contain."""
    unlabelled_rows: UnlabelledRows = "error"
    """What to do with a row whose label is empty, where the task type needs one."""
    soft_labels: bool = False
    """Whether labels may be probabilities: those of training."""


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
    other_data: str = "give a table"
    """What to do where a file with such an ending is to be read by another task type."""
    read: Callable[[Path, ReadOptions], ReadResult]
    """The labelled examples of a file."""
    has_labels: Callable[[Path], bool]
    iter_inputs: Callable[[Path], Iterator[Any]]
    """The examples without labels, one by one."""
    output_format: Callable[[Path, Path], OutputFormat] | None = None
    """(input, output) → how predictions are written to the file `output`; raises ConfigError for a wrong ending."""
    row: Callable[[Any, Sequence[str]], dict[str, Any]]
    """(labelled example, labels) → what it has, by the columns of a table."""
    part: Callable[[Path, LabelledData], str]
    """(file, some of its examples) → the text of a file with these examples only."""
    write_directory: Callable[[Path, Sequence[Any], Sequence[Any]], None] | None = None
    """(directory, examples, results): write the predictions, where the format has several files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleReader:
    """How examples are read."""

    guess: Callable[[Table, Columns], str | None]
    """Why a labelled table looks like this task type; None if it does not. Called in the order of the registry."""
    read: Callable[[Table, Columns, ReadOptions], ReadResult]
    """The labelled examples of a table."""
    read_inputs: Callable[[Table, Columns], Sequence[Any]] = lambda table, columns: read_text_inputs(table, columns)
    """The examples of a table without labels, for prediction."""
    label_column: Callable[[Table, Columns], str] = lambda table, columns: columns.label_name
    """The column with the labels, which an unlabelled table lacks."""
    needs_label: bool = True
    """Whether an empty label is missing; otherwise it says that a text has no labels, or a context no answer."""
    saves_columns: bool = True
    """Whether a model remembers the columns of its training data."""
    input_columns: tuple[str, ...] = ("text", "text_pair")
    """Fields of `Columns` that `read_inputs` uses."""
    finds_column: Callable[[str, Columns], bool] = lambda name, columns: False
    """(name, named columns) → whether `read_inputs` finds a column by its name, such as `option1`."""
    file_format: FileFormat | None = None

    @property
    def reads_pairs(self) -> bool:
        """Whether a column `text_pair` is the second text by default; questions have default names of their own."""
        return self.saves_columns and "text_pair" in self.input_columns


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What fine-tuning minimizes."""

    counts: Callable[[LabelledBatch], dict[str, int]] = lambda batch: {"label": batch.num_examples}
    """How many labels each loss sums over, from the labels alone."""
    sums: Callable[[nn.Module, LabelledBatch, Tensor | None], LossSums]
    """(model, batch, weights) → summed losses under the names of `counts`. The weights are those of the classes, or one
    by which all scores are multiplied."""
    class_weights: Callable[[ClassWeights, LabelledData], np.ndarray] | None = None
    """Weights of the labels, Float64 [C], from the setting and the training data; None: not supported."""
    score_scale: Callable[[LabelledData], "ScoreScale"] | None = None
    """Mean and standard deviation of the scores of the training data; DataError if all are equal. None: its labels are
    no scores."""


class ScoreScale(NamedTuple):
    """Where the scores of a regression lie."""

    mean: float
    std: float
    """Positive."""


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """One example with its prediction, for the error analysis."""

    text: str
    expected: str
    predicted: str
    loss: float
    """How wrong the prediction is; larger is worse."""
    is_correct: bool
    place: str = ""
    """Line or id in its file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardEntry:
    """The task type's part of a model card."""

    title: str
    pipeline_tag: str = "text-classification"
    """The task's name on the Hugging Face hub."""
    argument: str = '["a text"]'
    """Argument of the method of `Predictor` in the card's example."""
    pair_argument: str | None = '[("a text", "its pair")]'
    """The same for pairs of texts, where it differs."""
    goal: Callable[[Task], str] = lambda task: task.task_type.replace("_", " ")
    """What the model was fine-tuned for."""


BaselineScores = Callable[[Task, LabelledData, LabelledData], dict[str, float]]
"""(task, training data, development data) → the metrics of the task on the development data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baselines:
    """What a model is compared with; each baseline is its name and its scores."""

    constant: tuple[str, BaselineScores]
    """The same prediction for every example."""
    linear: tuple[str, BaselineScores]
    """A linear model, which needs the extra `eval`."""
    constant_loss: Callable[[LabelledData], float]
    """Training loss of the best constant prediction."""
    lowest_loss: Callable[[LabelledData], float] = lambda train: 0.0
    """Training loss of the best prediction of all, which is above 0 for soft labels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskType:
    """One type of fine-tuning task."""

    name: str
    model: ModelName
    """Class of `litebert.model.models`."""
    head: tuple[str, ...] = ("classifier",)
    """Modules of the model that a pretrained encoder lacks; they are initialized randomly."""
    problem_type: ProblemType | None = None
    """The name that transformers uses for it in `config.json`, if any."""
    has_labels: bool = False
    """Whether predictions have label names on their last axis."""
    metrics: tuple[str, ...]
    """Default metrics; the first selects the best model."""
    metrics_for_labels: Callable[[Sequence[str]], tuple[str, ...]] | None = None
    """The default metrics for given labels; None: `metrics`."""
    other_metrics: tuple[str, ...] = ()
    """Further metrics that apply."""
    settings: type[InputSettings] = TextInputSettings
    reader: ExampleReader
    loss: Loss
    forward: Callable[[nn.Module, Any], Sequence[Any]] = lambda model, inputs: sequence_logits(model, inputs)
    """Run the model on the inputs of a batch of encoded examples; the output for each sequence, on the CPU: an array,
    or a named tuple of arrays and numbers."""
    inference: TaskInference
    """From examples to sequences, and from the outputs of the model to predictions and results."""
    evaluate: Callable[[Task, Sequence[Prediction], LabelledData, np.ndarray, Any], Scored]
    """(task, predictions, data, length of each example, settings) → scores."""
    error_examples: Callable[[Task, Sequence[Prediction], LabelledData, Scored], list[ErrorExample]]
    collapse: Callable[[Evaluation], str | None]
    """Why a model with this evaluation has collapsed, that is, learned nothing; None if it has not."""
    card: CardEntry
    predictions: PredictionReader | None = None
    """How predictions of a file are read; None: they cannot be scored."""
    strata: Callable[[LabelledData], Sequence[Hashable]] | None = None
    """The stratum of each example, of which a split holds out the same share; None: all are in one."""
    baselines: Baselines | None = None
    predicts_one_class: bool = False
    """Whether predictions are the probabilities of classes, of which one is true."""
    predicts_each_label: bool = False
    """Whether predictions are the probabilities of labels, of which each is predicted from 0.5."""
    windows: bool = False
    """Whether a long input becomes several sequences; otherwise it is truncated."""

    @property
    def all_metrics(self) -> tuple[str, ...]:
        """Every metric that applies."""
        return (*self.metrics, *self.other_metrics)

    def default_metrics(self, labels: Sequence[str] | None) -> tuple[str, ...]:
        """The metrics of data with these labels; the first selects the best model."""
        return self.metrics_for_labels(labels) if labels and self.metrics_for_labels else self.metrics


def score(
    task: Task,
    predicted: Any,
    targets: Any,
    data: LabelledData,
    lengths: np.ndarray,
    *,
    probabilities: np.ndarray | None = None,
    length_unit: str = "tokens",
    **others: Any,
) -> Scored:
    """The metrics over all examples, by length and by slice; `others` are further fields of `Evaluation`."""
    of_part = measured(metrics_of_parts(task.metrics), predicted, targets, probabilities)
    by_length = parts_by_length(lengths, of_part, unit=length_unit)
    by_slice = parts([each.slice for each in data.examples], of_part)
    metrics, count = measure(task.metrics, predicted, targets, probabilities), len(data.examples)
    evaluation = Evaluation(metrics=metrics, examples=count, by_length=by_length, by_slice=by_slice, **others)
    return Scored(evaluation, predicted, targets, probabilities)


def measured(
    names: Sequence[str], predicted: Any, targets: Any, probabilities: np.ndarray | None = None
) -> Callable[[np.ndarray], dict[str, float]]:
    """These metrics as a function of the positions of examples."""
    return lambda rows: measure(
        names,
        take(predicted, rows),
        take(targets, rows),
        None if probabilities is None else probabilities[rows],
    )


def chance_level(name: str, value: float, examples: int, *, variance: float = 1.0) -> str | None:
    """Why a correlation is no better than chance: at most two standard errors of that of unrelated variables.

    Its square is `variance` / `examples`: 1 / examples for two numbers or two labels, less for more labels.
    """
    if value > 2 * sqrt(variance / examples):
        return None
    return f"predictions at chance level ({name} {value:.3f}, which chance reaches on {examples:,} examples)"


def no_label_found(evaluation: Evaluation) -> str | None:
    """Why an evaluation by label counts as collapsed: every F1 is zero."""
    scores = [value for part in evaluation.by_label for name, value in part.metrics.items() if name.endswith("f1")]
    return "predicts no label correctly" if scores and not any(scores) else None


def read_texts(
    table: Table, columns: Columns, targets: Sequence[Target], labels: tuple[str, ...] | None = None
) -> ReadResult:
    """The rows of a table with their targets."""
    groups, slices = group_and_slice(table, columns)
    examples = tuple(
        Example(text=text, text_pair=pair, target=target, group=group, slice=slice_)
        for (text, pair), target, group, slice_ in zip(_texts(table, columns), targets, groups, slices, strict=True)
    )
    empty = sum(not example.text.strip() for example in examples)
    if empty:
        logger.warning("%s: %d rows have an empty text; they are used", table.path, empty)
    return ReadResult(examples=examples, labels=labels, lines=[row.line for row in table.rows])


def read_text_inputs(table: Table, columns: Columns) -> list[Example]:
    """The rows of a table without targets."""
    return [Example(text=text, text_pair=pair) for text, pair in _texts(table, columns)]


def sequence_logits(model: nn.Module, inputs: ModelInputs) -> list[np.ndarray]:
    """Float32 [C] for each sequence or for the options of each question, or [S, C] for its tokens and padding."""
    return list(model(*inputs).logits.float().cpu().numpy())


def _texts(table: Table, columns: Columns) -> list[tuple[str, str | None]]:
    texts = table.texts(columns.text_name)
    pairs = table.texts(columns.text_pair) if columns.text_pair else [None] * len(texts)
    return list(zip(texts, pairs, strict=True))
