"""Averages the weights of models that were trained from the same one.

A model on the line between two of them can have the abilities of both (WiSE-FT, arXiv 2109.01903; model soups, arXiv
2203.05482). Models that only have the same architecture, or were fine-tuned far apart, average to one that predicts
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from litebert.errors import CheckpointError, ConfigError
from litebert.files import PRETRAINING_SETTINGS
from litebert.interop.average_shares import shares_of
from litebert.interop.conversion_source import (
    OF_THE_HEAD,
    longest_input,
    validate_no_adapters,
    validate_sources_stay,
    vocabulary_directory,
)
from litebert.model.io.model_directory import SavedModel, load_weights, read_directory, save_model
from litebert.model.io.model_spec import ModelName, ModelSpec, SavedDtype
from litebert.tokenization.tokenizer import Tokenizer

_OF_TRAINING = {
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "classifier_dropout_prob": 0.0,
    "initializer_range": 1.0,
}
"""Fields of the config that change no output of a trained model, and the value with which configs are compared."""


@dataclass(frozen=True)
class AverageReport:
    """A model whose weights are an average."""

    target: str
    model: ModelName
    sources: tuple[str, ...]
    weights: tuple[float, ...]
    """The share of each source; they sum to 1."""
    distances: tuple[float, ...]
    """Of each source from the average: the norm of the difference as a fraction of the norm of the average."""

    def to_text(self) -> str:
        """A line for each source, and what is left to do."""
        lines = [f"{self.target} ({self.model}): the average of the weights of"]
        for source, weight, distance in zip(self.sources, self.weights, self.distances, strict=True):
            lines.append(f"  {weight:6.1%} {source}, which differs from it by {distance:.1%} of its norm")
        return "\n".join([*lines, "Evaluate it: the weights do not tell whether their average is a good model."])


def average_models(
    sources: Sequence[Path | str], target: Path, *, weights: Sequence[float] = (), dtype: SavedDtype = "float32"
) -> AverageReport:
    """Write the model whose weights are the average of those of several models.

    How examples of pretraining were drawn is recorded as for the model with the largest weight. There is no model card,
    since the scores of the models hold for no other.

    Args:
        sources: two or more model or run directories, or names on the hub.
        target: the directory to write.
        weights: how much each model counts; they are divided by their sum. Empty: all count the same.
        dtype: of the weights in the file.

    Raises:
        ConfigError: there are fewer than two models, another number of weights or one that is not positive, the models
            have other architectures, labels, tasks or vocabularies, or `target` is or holds one of them.
        CheckpointError: a directory is damaged, or its weights are not finite.
    """
    shares = shares_of(sources, weights)
    saved = [read_directory(source) for source in sources]
    spec, places = saved[0].spec, [each.directory for each in saved]
    if target.resolve() in [place.resolve() for place in places]:
        raise ConfigError(f"{target}: is one of the models, which would be replaced; choose another directory")
    validate_sources_stay(target, places)
    for other in saved[1:]:
        where = f"{other.directory} and {places[0]}"
        _check_same_model(spec, other.spec, where=where)
        _check_same_task(places[0], other.directory, where=where)
    tokenizer = _common_tokenizer(places)
    parameters = [_parameters(each) for each in saved]
    average = {name: _weighted_mean([each[name] for each in parameters], shares) for name in parameters[0]}
    model = load_weights(spec, average, where=str(target))
    files = _files(places[shares.index(max(shares))])
    if tokenizer:
        files |= tokenizer.files(max_length=longest_input(files, spec))
    save_model(model, target, labels=spec.labels, problem_type=spec.problem_type, extra_files=files, dtype=dtype)
    distances = tuple(_distance(each, average) for each in parameters)
    return AverageReport(str(target), spec.model, tuple(map(str, sources)), shares, distances)


def _parameters(saved: SavedModel) -> dict[str, Tensor]:
    """The parameters of a model, shared ones once; CheckpointError if one is not finite, ConfigError for adapters."""
    validate_no_adapters(saved, action="averaged")
    model = load_weights(saved.spec, saved.weights.tensors, where=str(saved.directory))
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    for name, parameter in parameters.items():
        if not torch.isfinite(parameter).all():
            raise CheckpointError(
                f"{saved.directory}: {name} is not finite, as after a diverged training; leave the model out"
            )
    return parameters


def _check_same_model(first: ModelSpec, other: ModelSpec, *, where: str) -> None:
    """Raise ConfigError unless both specs have the same tensors with the same meaning."""
    for field in ("model", "labels", "problem_type", "pooling", "max_length", "pairing"):
        one, two = getattr(other, field), getattr(first, field)
        if one != two:
            raise ConfigError(f"{where}: {field} is {one!r} and {two!r}; average models of one kind")
    configs = [spec.config.replace(**_OF_TRAINING).to_dict() for spec in (other, first)]
    for field, value in configs[0].items():
        if value != configs[1][field]:
            raise ConfigError(
                f"{where}: {field} is {value} and {configs[1][field]}; average models of one architecture"
            )


def _check_same_task(first: Path, other: Path, *, where: str) -> None:
    """Raise ConfigError unless both models were fine-tuned for the same task, or neither was."""
    for name in OF_THE_HEAD:
        contents = [(place / name).read_bytes() if (place / name).is_file() else b"" for place in (first, other)]
        if name != PRETRAINING_SETTINGS and contents[0] != contents[1]:
            raise ConfigError(f"{where}: have other contents in {name}; average models that read their input alike")


def _common_tokenizer(places: Sequence[Path]) -> Tokenizer | None:
    """The tokenizer of all models, if they have one; raises ConfigError if one gives other ids."""
    tokenizers = {place: Tokenizer.load(place) for place in places if vocabulary_directory(place)}
    first = next(iter(tokenizers), None)
    for place, tokenizer in tokenizers.items():
        if first and not tokenizer.has_ids_of(tokenizers[first]):
            raise ConfigError(f"{place} and {first}: have other vocabularies; average models of one vocabulary")
    return tokenizers[first] if first else None


def _weighted_mean(tensors: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """Summed in float64, so that equal tensors stay as they are."""
    total = sum((share * tensor.double() for share, tensor in zip(shares, tensors, strict=True)), torch.zeros(()))
    return total.to(tensors[0].dtype)


def _files(place: Path) -> dict[str, bytes]:
    """What the directory of a model says of its head."""
    return {name: (place / name).read_bytes() for name in OF_THE_HEAD if (place / name).is_file()}


def _distance(parameters: Mapping[str, Tensor], average: Mapping[str, Tensor]) -> float:
    """‖parameters - average‖ / ‖average‖, over all tensors."""
    difference = sum(float((parameters[name] - mean).double().square().sum()) for name, mean in average.items())
    norm = sum(float(mean.double().square().sum()) for mean in average.values())
    return (difference / norm) ** 0.5 if norm else 0.0
