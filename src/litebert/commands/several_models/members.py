"""Several fine-tuned models for one task, such as the members of an ensemble, and their predictions."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from litebert.commands.model_arguments import ModelArguments
from litebert.commands.model_loading.exported_pipeline import exported_task
from litebert.commands.model_loading.loaded_pipeline import load_pipeline
from litebert.commands.row_files.resumable_output import WindowResults
from litebert.device import usable_device
from litebert.errors import ConfigError
from litebert.inference.task_pipeline import TaskPipeline, average_predictions, with_labels
from litebert.model import matmul_speed
from litebert.model.io.default_labels import numbers_of
from litebert.model.io.hub import model_directory
from litebert.model.io.model_spec import CONFIG, read_model_spec
from litebert.runtime.export_metadata import is_export
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, warn_empty
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.metrics.evaluation import Scored
from litebert.tasks.metrics.metrics import OF_SECOND_LABEL
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.task_inference import Prediction
from litebert.tasks.types.registry import task_type_of
from litebert.tasks.types.task_type import TaskType

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """One of several models for the same task."""

    path: Path
    """As given: a run, a model, a checkpoint, an export directory, or a name on the hub."""
    directory: Path
    """The model or export directory."""
    task_type: TaskType
    labels: tuple[str, ...]
    """Label names in the order of the model."""
    arguments: ModelArguments = field(default_factory=ModelArguments)
    """How it runs."""

    @classmethod
    def at(cls, source: str, arguments: ModelArguments | None = None) -> "Member":
        """The member at a path, or with a name on the hub."""
        directory, arguments = model_directory(source), arguments or ModelArguments()
        if is_export(directory):
            return cls(Path(source), directory, *exported_task(directory), arguments)
        if not (directory / CONFIG).exists():
            raise ConfigError(f"{source}: no model; give a run of `finetune` or `sweep`, or a model directory")
        spec = read_model_spec(directory)
        return cls(Path(source), directory, task_type_of(directory, spec), spec.labels, arguments)

    def load(self) -> TaskPipeline:
        """The member, ready to predict in float64."""
        return replace(load_pipeline(self.directory, self.arguments), dtype=np.float64)

    def with_precision(self, precision: InferencePrecision) -> "Member":
        """The same member in another precision."""
        return replace(self, arguments=self.arguments.model_copy(update={"precision": precision}))

    def describe(self) -> str:
        """Task type and labels."""
        labels = ", ".join(self.labels)
        return self.task_type.name + (f" with the labels {labels}" if labels else "")


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a member or an ensemble predicts for some examples."""

    task_type: TaskType
    predictions: list[Prediction]
    labels: tuple[str, ...]
    settings: InputSettings
    lengths: np.ndarray
    """Of each example, as the member reads it."""
    num_truncated: int
    """Examples that are longer than the member reads."""
    num_empty: int
    """Examples without a token; their predictions are those of the special tokens alone."""

    @classmethod
    def by(cls, pipeline: TaskPipeline, encoded: Encoded, labels: Sequence[str]) -> "Predicted":
        """What a member predicts for the examples in `encoded`, with its labels in the order of `labels`."""
        return cls(
            task_type=pipeline.task_type,
            predictions=with_labels(pipeline.predict_encoded(encoded), pipeline, labels),
            labels=tuple(labels),
            settings=pipeline.settings,
            lengths=encoded.example_lengths,
            num_truncated=encoded.num_truncated,
            num_empty=encoded.num_empty,
        )

    def score(self, task: Task, data: LabelledData) -> Scored:
        """The predictions evaluated."""
        return self.task_type.evaluate(task, self.predictions, data, self.lengths, self.settings)

    def results(self, examples: Sequence[Any]) -> list[DecodedPrediction]:
        """The predictions with label names and texts."""
        pairs = zip(self.predictions, examples, strict=True)
        return [self.task_type.inference.decode(each, example, self.labels, self.settings) for each, example in pairs]

    def with_metrics(self, metrics: dict[str, float]) -> "Predicted":
        """These predictions with the threshold of an evaluation."""
        return replace(self, settings=self.settings.with_metrics(metrics))


def members_at(sources: Sequence[str], run: ModelArguments) -> list[Member]:
    """The members in the order of their paths; ConfigError unless they have the same task type and labels.

    `run` are the settings of the command, with how its models run.
    """
    arguments = ModelArguments(precision=run.precision, device=run.device, threads=run.threads)
    members = [Member.at(source, arguments) for source in sorted(sources, key=Path)]
    met: dict[Path, Member] = {}
    for member in members:
        if (other := met.setdefault(member.directory.resolve(), member)) is not member:
            raise ConfigError(f"{member.path}: the same model as {other.path}; give each member once")
    first = members[0]
    for member in members[1:]:
        # The output of a regression is named by the column of its scores, which tells no tasks apart.
        same_labels = not first.task_type.has_labels or set(_names(member)) == set(_names(first))
        if member.task_type is not first.task_type or not same_labels:
            raise ConfigError(
                f"{member.path}: its task is {member.describe()}, that of {first.path} is {first.describe()}; give "
                "models for the same task"
            )
    return members


def _names(member: Member) -> tuple[str, ...]:
    """The labels of a member; numbers for those without names (LABEL_0)."""
    return numbers_of(member.labels) or member.labels


def validate_label_order(members: Sequence[Member], task: Task | None) -> None:
    """Raise ConfigError where a metric of the second label is asked of models with labels in other orders."""
    asked = [name for name in task.metrics if name in OF_SECOND_LABEL] if task else []
    if asked and len({_names(member) for member in members}) > 1:
        raise ConfigError(
            f"metrics: {asked[0]} is that of the second label, and the models have their labels in other orders"
        )


class SharedEncoding:
    """Examples as the last pipeline reads them, which the next one shares if it reads them alike."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples
        self._encoded: Encoded | None = None
        self._reads: tuple[object, ...] = ()

    def by(self, pipeline: TaskPipeline) -> Encoded:
        """The sequences of the examples."""
        reads = (pipeline.task_type, pipeline.tokenizer.fingerprint, pipeline.settings.of_encoding())
        if self._encoded is None or reads != self._reads:
            self._encoded = None  # before the new ones, so that not both are in memory
            self._encoded, self._reads = pipeline.encode(self._examples), reads
        return self._encoded


def with_measured_precision(members: Sequence[Member]) -> list[Member]:
    """The members; those of torch whose precision is `auto` in the one that is the fastest for the first of them.

    Measurements differ, and their scores are compared. Export directories have their most precise graph.
    """
    measured = [each for each in members if each.arguments.precision == "auto" and not is_export(each.directory)]
    if not measured:
        return list(members)
    device = torch.device(usable_device(measured[0].arguments.device, "auto"))
    config = read_model_spec(measured[0].directory).config
    precision = matmul_speed.fastest_precision(config, device, "inference")
    return [each.with_precision(precision) if each in measured else each for each in members]


def predict_members(members: Sequence[Member], examples: Sequence[Any], *, labels: tuple[str, ...]) -> list[Predicted]:
    """What each member predicts, with its labels in the order of `labels`; one model is in memory at a time.

    Neighbours that read the examples alike, as runs with several seeds do, share the encoded ones.
    """
    encoding = SharedEncoding(examples)

    def predict(member: Member) -> Predicted:  # a function, at whose end the model is freed
        logger.info("%s: %d examples", member.path, len(examples))
        pipeline = member.load()
        return Predicted.by(pipeline, encoding.by(pipeline), labels)

    predicted = [predict(member) for member in with_measured_precision(members)]
    truncating = [
        f"{each.num_truncated} of {len(examples)} rows by {member.path} ({each.settings.max_length} tokens)"
        for member, each in zip(members, predicted, strict=True)
        if each.num_truncated
    ]
    if truncating:
        logger.warning("longer than the max_length of the fine-tuning, truncated: %s", ", ".join(truncating))
    warn_empty("examples", max(each.num_empty for each in predicted), rows=len(examples))
    return predicted


def averaged(members: Sequence[Predicted]) -> Predicted:
    """What the ensemble predicts."""
    first = members[0]
    predictions = average_predictions([each.predictions for each in members], first.task_type)
    settings = first.task_type.settings.of_ensemble([each.settings for each in members])
    return replace(first, predictions=predictions, settings=settings)


def validate_inputs(pipelines: Sequence[TaskPipeline], examples: Sequence[Any]) -> None:
    """Raise NoTokensError for an example that one of the pipelines cannot predict."""
    for each in pipelines:
        each.task_type.inference.validate_inputs(examples, each.tokenizer)


def ensemble_results(pipelines: Sequence[TaskPipeline], examples: Sequence[Any]) -> WindowResults:
    """The averaged predictions of several pipelines, with the largest counts of truncated and of empty examples."""
    members = [Predicted.by(each, each.encode(examples), pipelines[0].labels) for each in pipelines]
    counts = Counter(
        truncated=max(member.num_truncated for member in members), empty=max(member.num_empty for member in members)
    )
    return WindowResults(averaged(members).results(examples), +counts)
