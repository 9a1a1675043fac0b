"""Model directories: what training leaves and everything else loads. Before: a model. After: tasks, inference, interop.

`config.json` and `model.safetensors` with transformers' names, so that transformers loads the directory too; variants
that it cannot run are kept under our own names in `litebert.safetensors`. docs/checkpoints.md describes both.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from litebert.errors import CheckpointError, ConfigError
from litebert.files import MANIFEST, atomic_directory, verify_manifest, write_bytes, write_json
from litebert.model import models
from litebert.model.config import ModelConfig
from litebert.model.io.hf_weights import IDENTITY, Renamed, from_transformers, to_transformers
from litebert.model.io.hub import HubOptions, fetch
from litebert.model.io.model_spec import (
    CONFIG,
    LABELLED,
    ModelName,
    ModelSpec,
    ProblemType,
    read_model_spec,
    to_json,
    transformers_incompatibility,
)
from litebert.model.io.weight_files import OWN, SAFETENSORS, read_tensors, write_tensors
from litebert.model.layers.lora import attach, can_be_merged, merged
from litebert.model.remap_weights import remap_weights
from litebert.model.sharing_schedule import sharing_schedule

HUB: Final = HubOptions()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stored:
    """A model directory that was read and checked, not yet a model."""

    directory: Path
    description: ModelSpec
    renamed: Renamed
    """The tensors under our names, and what became of the names in the file."""


def load_model(
    source: Path | str,
    *,
    as_model: ModelName | None = None,
    labels: Collection[str] = (),
    fresh: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
    seed: int = 0,
    hub: HubOptions = HUB,
) -> nn.Module:
    """The model in a directory of ours or of transformers, or on the hub, ready for inference.

    Args:
        source: a directory, or a name on the hub.
        as_model: load the encoder into another model than the one that was saved.
        labels: names of the classes of the new classifier, where `as_model` is one.
        fresh: modules, such as "classifier", that start from new weights whatever the source holds.
        changes: fields of the config to change: dropout rates, or depth and sharing over the bridges of `bridges.py`.
        seed: of the new weights.
        hub: how to fetch a name.

    Raises:
        CheckpointError: something is missing, damaged or of another shape; nothing is ever left at random silently.
        ConfigError: the config is not one of a supported model.
    """
    stored = read_directory(source, hub=hub)
    description = updated_spec(stored.description, as_model=as_model, labels=labels, changes=changes or {})
    tensors = remap_weights(stored.renamed.tensors, source=stored.description.config, target=description.config)
    return load_weights(description, tensors, where=str(stored.directory), fresh=fresh, seed=seed)


def save_model(
    model: nn.Module,
    directory: Path | str,
    *,
    labels: Collection[str] = (),
    problem_type: ProblemType | None = None,
    extra_files: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a model directory, all or nothing, with the SHA-256 of every file; an older one in its place is replaced.

    Adapters are folded into the weights where they can be.

    Args:
        model: any class of `models.py`.
        directory: the place; must be new, empty or a model directory.
        labels: names of a classifier's classes, in the order of its logits.
        problem_type: what a classifier's logits mean, for the loss that transformers computes.
        extra_files: further files by name, such as those of a tokenizer.
    """
    directory = Path(directory)
    model = merged(model) if can_be_merged(model) else model
    description = describe(model, labels=labels, problem_type=problem_type)
    check_replaceable(directory, CONFIG)
    with atomic_directory(directory) as temporary:
        write_json(temporary / CONFIG, to_json(description))
        _write_weights(temporary, model, description)
        write_extra_files(temporary, extra_files or {})
    return directory


def check_replaceable(directory: Path, sign: str) -> None:
    """Raise CheckpointError if writing to `directory` would destroy anything but an older one with the file `sign`."""
    if directory.exists() and not directory.is_dir():
        raise CheckpointError(f"{directory}: is a file; choose another place")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / sign).is_file():
        raise CheckpointError(f"{directory}: holds other files, which would be replaced; choose another place")


def write_extra_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files beside those that are there; raises ConfigError for a name that is taken or leads outside."""
    for name, content in files.items():
        path = directory / name
        if path.exists() or name == MANIFEST or Path(name).is_absolute() or ".." in Path(name).parts:
            raise ConfigError(f"extra_files: {name!r} is taken or lies outside the directory; choose another name")
        write_bytes(path, content)


def describe(model: nn.Module, *, labels: Collection[str] = (), problem_type: ProblemType | None = None) -> ModelSpec:
    """What a directory says of a model; classes without a name are called LABEL_0, LABEL_1, …"""
    name, config = type(model).__name__, getattr(model, "config", None)
    if name not in MODELS or not isinstance(config, ModelConfig):
        raise ConfigError(f"model: {name} cannot be saved; expected one of {', '.join(MODELS)}")
    classes = getattr(getattr(model, "classifier", None), "out_features", 0) if name in LABELLED else 0
    names = tuple(labels) or tuple(f"LABEL_{index}" for index in range(classes))
    if len(names) != classes:
        raise ConfigError(f"labels: {len(names)} names for a {name} with {classes} classes; give one name a class")
    fields = {
        "model": name,
        "config": config.to_dict(),
        "labels": names,
        "problem_type": problem_type,
        "adapters": None if can_be_merged(model) else cast(Any, model).encoder.adapters,
    }
    return ModelSpec.parse({**fields, "pooling": getattr(model, "pooling", "mean")}, where="model")


def read_directory(source: Path | str, *, hub: HubOptions = HUB) -> Stored:
    """Everything in a model directory, checked against its manifest if it has one."""
    directory = _directory(source, hub=hub)
    if (directory / MANIFEST).is_file():
        verify_manifest(directory)
    else:
        log.info("%s: has no %s, so damage could go unnoticed", directory, MANIFEST)
    description = read_model_spec(directory)
    tensors = read_tensors(directory)
    if transformers_incompatibility(description):
        names = tuple((name, name) for name in tensors)
        return Stored(directory, description, Renamed(tensors, description.config, names))
    renamed = from_transformers(tensors, description.config, where=str(directory))
    for name, reason in renamed.dropped:
        level = logging.DEBUG if reason == IDENTITY else logging.INFO
        log.log(level, "%s: tensor %s left out: %s", directory, name, reason)
    return Stored(directory, description.replace(config=renamed.config.to_dict()), renamed)


def load_weights(
    description: ModelSpec, tensors: Mapping[str, Tensor], *, where: str, fresh: Collection[str] = (), seed: int = 0
) -> nn.Module:
    """A model with these weights, in evaluation mode; raises CheckpointError unless they are all there and fit."""
    model = build(description, seed=seed, device="cpu" if fresh or description.adapters else "meta")
    expected = _stored(model)
    new = {name for name in expected if any(name == start or name.startswith(f"{start}.") for start in fresh)}
    unknown = [start for start in fresh if not any(f"{name}.".startswith(f"{start}.") for name in expected)]
    if unknown:
        raise ConfigError(f"fresh: {description.model} has no {unknown[0]!r}; name a module such as 'classifier'")
    _check_complete(expected, tensors, new, where=f"{where}: as {description.model}")
    chosen = {name: tensors[name].to(torch.float32).contiguous() for name in expected if name not in new}
    if description.adapters:  # assigned, blocks that share their parameters would no longer do so
        model.load_state_dict(chosen, strict=False)
    else:
        model.load_state_dict({**{name: expected[name] for name in new}, **chosen}, assign=True)
    return model.requires_grad_(True).eval()


def build(description: ModelSpec, *, seed: int = 0, device: str = "cpu") -> nn.Module:
    """A model with new weights."""
    options: dict[str, Any] = {}
    if description.model in LABELLED:
        options["num_labels"] = len(description.labels)
    if description.model == "SentenceEmbedder":
        options["pooling"] = description.pooling
    with torch.device(device):
        model = MODELS[description.model](description.config, seed=seed, **options)
        if description.adapters:
            attach(model, description.adapters, seed=seed)
    return model


MODELS: Final[dict[str, Any]] = {
    "ForPretraining": models.ForPretraining,
    "ForMaskedLM": models.ForMaskedLM,
    "ForSequenceClassification": models.ForSequenceClassification,
    "ForMultipleChoice": models.ForMultipleChoice,
    "ForTokenClassification": models.ForTokenClassification,
    "ForQuestionAnswering": models.ForQuestionAnswering,
    "ForQuestionAnsweringWithNoAnswer": models.ForQuestionAnsweringWithNoAnswer,
    "SentenceEmbedder": models.SentenceEmbedder,
}


def _directory(source: Path | str, *, hub: HubOptions) -> Path:
    if Path(source).is_dir():
        return Path(source)
    if Path(source).exists():
        raise CheckpointError(f"{source}: is a file; give the directory that holds it")
    if isinstance(source, Path):
        raise CheckpointError(f"{source}: no such directory; give the path of a model directory")
    return fetch(source, hub)


def updated_spec(
    description: ModelSpec, *, as_model: ModelName | None, labels: Collection[str], changes: Mapping[str, Any]
) -> ModelSpec:
    """The description of another model over the same encoder, or with other settings."""
    config = description.config.replace(**changes)
    if description.adapters and sharing_schedule(config) != sharing_schedule(description.config):
        raise ConfigError("config: a model with adapters for each layer keeps its layers; change others than those")
    if as_model in (None, description.model) and not labels:
        return description.replace(config=config.to_dict())
    values = {"model": as_model or description.model, "config": config.to_dict(), "labels": tuple(labels)}
    return ModelSpec.parse({**values, "adapters": description.adapters}, where="load_model")


def _check_complete(
    expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor], new: Collection[str], *, where: str
) -> None:
    """Every tensor must be there and of its shape."""
    needed = [name for name in expected if name not in new]
    missing = [name for name in needed if name not in tensors]
    if missing:
        raise CheckpointError(
            f"{where}: lacks {len(missing)} of {len(needed)} tensors, such as {missing[0]!r}; "
            "load what it is, or name the modules that may start from new weights "
            "(`fresh`; for `litebert convert`, --allow-missing)"
        )
    for name in needed:
        found, wanted = tuple(tensors[name].shape), tuple(expected[name].shape)
        if found != wanted:
            raise CheckpointError(
                f"{where}: {name} has shape {found}, the config says {wanted}; take a matching config"
            )


def _write_weights(directory: Path, model: nn.Module, description: ModelSpec) -> None:
    tensors = _stored(model)
    reason = transformers_incompatibility(description)
    if reason:
        log.info("the model is saved in our own form: %s", reason)
        write_tensors(directory / OWN, tensors)
    else:
        write_tensors(directory / SAFETENSORS, to_transformers(tensors, description.config))


def _stored(model: nn.Module) -> dict[str, Tensor]:
    """Every tensor once, under the first of its names."""
    names: dict[int, str] = {}
    tensors = model.state_dict(keep_vars=True)
    for name, tensor in tensors.items():
        names.setdefault(id(tensor), name)
    return {name: tensors[name].detach() for name in names.values()}
