"""The models of an ensemble and their predictions. Before: run, model, checkpoint directories. After: `ensemble`."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from litebert.commands.run_directory import RunDirectory
from litebert.errors import ConfigError
from litebert.inference.batching import outputs_of
from litebert.model.io.model_directory import load_model, load_weights
from litebert.model.io.model_spec import CONFIG, ModelSpec, read_model_spec
from litebert.settings import Precision
from litebert.tasks.encoded import Encoded
from litebert.tasks.ensembling.averaging import AVERAGING, Predictions, in_order_of
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.task_type import Kind
from litebert.tasks.types.registry import KINDS, encode_for, kind_of
from litebert.tasks.types.span_features import EncodedQuestions
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.checkpointing.checkpoint import read_tensors, verified
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.precision import autocast

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """One model."""

    path: Path
    """As it was given."""
    directory: Path
    """The model directory that tells what it is."""
    checkpoint: Path | None
    """Where the weights are, if not in `directory`."""
    description: ModelSpec
    kind: Kind

    @classmethod
    def at(cls, path: Path) -> "Member":
        """A run directory, a model directory, or `RUN/checkpoints/step-…` of a run that has a model."""
        checkpoint = path if path.parent.name == "checkpoints" else None
        run = RunDirectory(path.parent.parent if checkpoint else path)
        directory = path if (path / CONFIG).exists() else run.model
        if not (directory / CONFIG).exists():
            raise ConfigError(f"{path}: no model there; give a run of `finetune` or `sweep`, or a model directory")
        description = read_model_spec(directory)
        return cls(path, directory, checkpoint, description, kind_of(description, where=str(path)))

    def load(self) -> nn.Module:
        """The model with its weights."""
        if self.checkpoint is None:
            return load_model(self.directory)
        tensors, _ = read_tensors(verified(self.checkpoint))
        return load_weights(self.description, tensors, where=str(self.checkpoint))


@dataclass(frozen=True)
class Predicted:
    """What one member, or the ensemble, predicts for some rows."""

    kind: Kind
    predictions: Predictions
    encoded: Encoded
    """The rows as the member reads them."""

    @property
    def threshold(self) -> float | None:
        """Of the null score, as the member's directory keeps it; None for other kinds, and while none is chosen."""
        return self.encoded.settings.no_answer_threshold if isinstance(self.encoded, EncodedQuestions) else None


def members_at(paths: Sequence[Path]) -> list[Member]:
    """The members in the order of their paths; ConfigError unless they answer the same with the same labels."""
    if len(set(paths)) < len(paths):
        raise ConfigError("ensemble: a member is given twice, which would count it twice; give each once")
    if not paths:
        raise ConfigError("ensemble: give the directories of its members")
    members = [Member.at(path) for path in sorted(paths)]
    first = members[0]
    for member in members[1:]:
        if member.kind != first.kind or set(member.description.labels) != set(first.description.labels):
            found, expected = _answers(member), _answers(first)
            raise ConfigError(f"{member.path}: answers {found}, but {first.path} {expected}; they cannot be averaged")
    return members


def predictions_of(members: Sequence[Member], data: LabelledData, *, precision: Precision) -> list[Predicted]:
    """What each member predicts for each example, with the labels in the order of `data`."""
    predicted = []
    for member in members:
        logger.info("%s: %d rows", member.path, len(data.examples))
        predicted.append(_predictions(member, data.examples, labels=data.labels or (), precision=precision))
    return predicted


def averaged(predicted: Sequence[Predicted]) -> Predicted:
    """What the ensemble predicts."""
    first = predicted[0]
    average = AVERAGING[first.kind].average
    return Predicted(first.kind, average([each.predictions for each in predicted]), first.encoded)


def _predictions(member: Member, examples: Sequence[Any], *, labels: Sequence[str], precision: Precision) -> Predicted:
    world = DistributedContext.current()
    longest = member.description.config.max_position_embeddings
    encode = encode_for(member.directory, member.kind)
    encoded = encode(examples, Tokenizer.load(member.directory), max_length=longest)
    with autocast(precision, world.device):
        outputs = outputs_of(member.load().to(world.device), encoded, KINDS[member.kind].outputs)
    averaging = AVERAGING[member.kind]
    predictions = averaging.predictions(outputs, encoded)
    if averaging.has_labels:
        predictions = in_order_of(labels, member.description.labels, predictions)
    return Predicted(member.kind, predictions, encoded)


def _answers(member: Member) -> str:
    labels = ", ".join(member.description.labels)
    return member.kind.replace("_", " ") + (f" with the labels {labels}" if labels else "")
