"""Saves and loads model directories.

`config.json` and `model.safetensors` have transformers' names, so that transformers loads the directory too. Variants
that it does not know are saved under litebert's names, with code that it can load. The weights of a checkpoint are in
`litebert.safetensors`. docs/formats/checkpoints.md describes all three.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, get_args

import torch
from torch import Tensor, nn

from litebert.errors import CheckpointError, ConfigError
from litebert.files import json_bytes, path_of, write_bytes, write_json
from litebert.hub_download import HubOptions
from litebert.manifest import MANIFEST, atomic_directory, verify_manifest
from litebert.model import models
from litebert.model.config import ModelConfig
from litebert.model.encoder import encoder_of
from litebert.model.io.adapter_names import from_saved_names, has_adapters, to_saved_names
from litebert.model.io.default_labels import default_labels
from litebert.model.io.hf_weights import IDENTITY, MappedWeights, tensors_from_transformers, tensors_to_transformers
from litebert.model.io.hub import HUB, model_directory
from litebert.model.io.model_spec import (
    CONFIG,
    LABELLED,
    MASKED_LANGUAGE_MODELS,
    ModelName,
    ModelSpec,
    ProblemType,
    SavedDtype,
    has_own_names,
    read_model_spec,
    to_json,
    to_own_json,
    transformers_incompatibility,
    validate_as_model,
)
from litebert.model.io.replaced_directories import check_replaceable, is_model, is_part_of_a_run
from litebert.model.io.weight_files import OWN, SAFETENSORS, in_dtype, read_tensors, write_tensors
from litebert.model.layers.lora import attach, can_be_merged, merged
from litebert.model.layers.standardized_head import head_parameters, with_dense_head
from litebert.model.remapping.remap_weights import remap_weights
from litebert.model.sharing_schedule import sharing_schedule

REMOTE_CODE: Final = (
    *("configuration_litebert.py", "layers_litebert.py", "modeling_litebert.py"),
    "no_answer_litebert.py",
)
"""Files with which transformers loads a model that it does not know."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedModel:
    """Content of a model directory: spec and weights."""

    directory: Path
    spec: ModelSpec
    weights: MappedWeights


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
    """The model in a directory of litebert or transformers, or on the hub, in evaluation mode.

    Args:
        source: a model or run directory, or a name on the hub.
        as_model: load the encoder into another model than the one that was saved.
        labels: class names of the new classifier, if `as_model` is one.
        fresh: modules, such as "classifier", that are initialized at random even if the source has weights for them.
        changes: fields of the config to change, such as dropout; depth and sharing are changed by `remap_weights`.
        seed: of the random weights, new units of wider feed-forward layers included.
        hub: options of the download.

    Raises:
        CheckpointError: a tensor is missing, damaged or of another shape.
        ConfigError: the model is not supported.
    """
    saved = read_directory(source, as_model=as_model, hub=hub)
    spec = updated_spec(saved.spec, as_model=as_model, labels=labels, changes=changes or {})
    tensors = remap_weights(saved.weights.tensors, source=saved.spec.config, target=spec.config, seed=seed)
    return load_weights(spec, tensors, where=str(saved.directory), fresh=fresh, seed=seed)


def save_model(
    model: nn.Module,
    directory: Path | str,
    *,
    labels: Collection[str] = (),
    problem_type: ProblemType | None = None,
    extra_files: Mapping[str, bytes] | None = None,
    dtype: SavedDtype = "float32",
) -> Path:
    """Write a model directory atomically, with the SHA-256 of every file; an existing one is replaced.

    LoRA adapters are merged into the weights if they can be.

    Args:
        model: any class of `models.py`.
        directory: must be new, empty, or a model directory without further files.
        labels: class names of a classifier, in the order of its logits.
        problem_type: of a classifier, for the loss that transformers computes.
        extra_files: name → content of further files, such as those of a tokenizer.
        dtype: of the weights in the file, whatever that of the parameters; `load_model` gives float32 again.

    Raises:
        CheckpointError: `directory` holds other files.
        ConfigError: the model cannot be saved, or a weight is too large for `dtype`.
    """
    directory = path_of(directory)
    model = merged(model) if can_be_merged(model) else model
    spec = spec_of(model, labels=labels, problem_type=problem_type)
    if not is_part_of_a_run(directory):
        check_replaceable(directory, is_own=is_model(directory))
    with atomic_directory(directory) as temporary:
        write_json(temporary / CONFIG, to_json(spec))
        _write_weights(temporary, model, spec, dtype)
        write_extra_files(temporary, extra_files or {})
    return directory


def config_contents(
    model: nn.Module, *, labels: Collection[str] = (), problem_type: ProblemType | None = None
) -> dict[str, bytes]:
    """`config.json`, for a directory with the weights of `model` in `litebert.safetensors`; adapters are not merged."""
    spec = spec_of(model, labels=labels, problem_type=problem_type)
    return {CONFIG: json_bytes(to_own_json(spec.replace(adapters=encoder_of(model).adapters)))}


def write_extra_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write further files; raises ConfigError for a name that exists or lies outside the directory."""
    for name, content in files.items():
        path = directory / name
        if path.exists() or name == MANIFEST or Path(name).is_absolute() or ".." in Path(name).parts:
            raise ConfigError(f"extra_files: {name!r} exists or lies outside the directory; choose another name")
        write_bytes(path, content)


def spec_of(model: nn.Module, *, labels: Collection[str] = (), problem_type: ProblemType | None = None) -> ModelSpec:
    """The spec of a model; classes without names are LABEL_0, LABEL_1, …"""
    name, config = type(model).__name__, getattr(model, "config", None)
    if name not in MODELS or not isinstance(config, ModelConfig):
        raise ConfigError(f"model: {name} cannot be saved; expected one of {', '.join(MODELS)}")
    classes = getattr(getattr(model, "classifier", None), "out_features", 0) if name in LABELLED else 0
    names = tuple(labels) or default_labels(classes)
    if len(names) != classes:
        raise ConfigError(f"labels: {len(names)} names for a {name} with {classes} classes; give one name a class")
    fields = {
        "model": name,
        "config": config.to_dict(),
        "labels": names,
        "problem_type": problem_type,
        "adapters": None if can_be_merged(model) else encoder_of(model).adapters,
    }
    fields |= {"pooling": getattr(model, "pooling", "mean"), "max_length": getattr(model, "max_length", None)}
    fields["pairing"] = getattr(model, "pairing", None)
    return ModelSpec.parse(fields, where="model")


def read_directory(source: Path | str, *, as_model: ModelName | None = None, hub: HubOptions = HUB) -> SavedModel:
    """Spec and weights, in float32, of a model directory, verified against its manifest if it has one.

    `as_model`: what is made of the weights, if it is another model than the one that was saved.
    """
    directory = model_directory(source, hub=hub)
    if (directory / MANIFEST).is_file():
        verify_manifest(directory)
    else:
        logger.info("%s: has no %s, so damage cannot be detected", directory, MANIFEST)
    spec = read_model_spec(directory)
    tensors = with_dense_head({name: tensor.to(torch.float32) for name, tensor in read_tensors(directory).items()})
    if has_own_names(directory):
        if not any(name.startswith("encoder.") for name in tensors):  # saved by `AutoModel` of transformers
            tensors = {f"encoder.{name}": tensor for name, tensor in tensors.items()}
        if has_adapters(tensors) and spec.adapters is None:
            raise CheckpointError(f"{directory}: has per-layer adapters, but {CONFIG} says none; take a complete copy")
        if spec.adapters and not (directory / OWN).is_file():
            tensors = from_saved_names(tensors, spec.config, spec.adapters)
        names = tuple((name, name) for name in tensors)
        return SavedModel(directory, spec, MappedWeights(tensors, spec.config, names))
    has_mlm_head = (as_model or spec.model) in MASKED_LANGUAGE_MODELS
    weights = tensors_from_transformers(tensors, spec.config, has_mlm_head=has_mlm_head, where=str(directory))
    for name, reason in weights.dropped:
        level = logging.DEBUG if reason == IDENTITY else logging.INFO
        logger.log(level, "%s: tensor %s dropped: %s", directory, name, reason)
    return SavedModel(directory, spec.replace(config=weights.config.to_dict()), weights)


def load_weights(
    spec: ModelSpec, tensors: Mapping[str, Tensor], *, where: str, fresh: Collection[str] = (), seed: int = 0
) -> nn.Module:
    """A model with these weights, in evaluation mode; raises CheckpointError if one is missing or of another shape."""
    model = build(spec, seed=seed, device="cpu" if fresh or spec.adapters else "meta")
    expected = dict(model.named_parameters())  # a shared parameter once
    new = {name for name in expected if any(in_module(name, module) for module in fresh)}
    unknown = [module for module in fresh if not any(in_module(name, module) for name in expected)]
    if unknown:
        raise ConfigError(f"fresh: {spec.model} has no {unknown[0]!r}; name a module such as 'classifier'")
    _check_complete(expected, tensors, new, where=f"{where}: as {spec.model}")
    chosen = {name: tensors[name].to(torch.float32).contiguous() for name in expected if name not in new}
    if spec.adapters:  # `assign` would break the sharing of parameters between blocks
        model.load_state_dict(chosen, strict=False)
    else:
        model.load_state_dict({**{name: expected[name] for name in new}, **chosen}, assign=True)
    return model.requires_grad_(True).eval()


def in_module(name: str, module: str) -> bool:
    """Whether a parameter belongs to a module, or is it."""
    return f"{name}.".startswith(f"{module}.")


def build(spec: ModelSpec, *, seed: int = 0, device: str = "cpu") -> nn.Module:
    """A randomly initialized model."""
    options: dict[str, Any] = {}
    if spec.model in LABELLED:
        options["num_labels"] = len(spec.labels)
    if spec.model == "SentenceEmbedder":
        options |= {"pooling": spec.pooling, "max_length": spec.max_length}
    if spec.model == "ForPretraining":
        options["pairing"] = spec.pairing
    with torch.device(device):
        model = MODELS[spec.model](spec.config, seed=seed, **options)
        if spec.adapters:
            attach(model, spec.adapters, seed=seed)
    return model


MODELS: Final[dict[str, Any]] = {name: getattr(models, name) for name in get_args(ModelName)}


def updated_spec(
    spec: ModelSpec, *, as_model: ModelName | None, labels: Collection[str], changes: Mapping[str, Any]
) -> ModelSpec:
    """The spec of another model with the same encoder, or with other settings."""
    validate_as_model(as_model)
    config = spec.config.replace(**changes)
    fixed = [(sharing_schedule(each), each.intermediate_size) for each in (config, spec.config)]
    if spec.adapters and fixed[0] != fixed[1]:
        raise ConfigError(
            "config: depth, sharing and width of the feed-forward layers of a model with per-layer adapters cannot "
            "change; leave them out"
        )
    if as_model in (None, spec.model) and len(labels) in (0, len(spec.labels)):  # other names of the same classes
        return spec.replace(config=config.to_dict(), labels=tuple(labels) or spec.labels)
    values = {"model": as_model or spec.model, "config": config.to_dict(), "labels": tuple(labels)}
    return ModelSpec.parse({**values, "adapters": spec.adapters}, where="load_model")


def _check_complete(
    expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor], new: Collection[str], *, where: str
) -> None:
    """Raise CheckpointError unless every tensor but those of `new` is in `tensors`, with its shape."""
    needed = [name for name in expected if name not in new]
    missing = [name for name in needed if name not in tensors]
    if missing:
        raise CheckpointError(
            f"{where}: lacks {len(missing)} of {len(needed)} tensors, such as {missing[0]!r}; "
            "load the model that was saved, or name the modules to initialize at random "
            "(`fresh`; for `litebert convert`, --allow-missing)"
        )
    for name in needed:
        found, wanted = tuple(tensors[name].shape), tuple(expected[name].shape)
        if found != wanted:
            raise CheckpointError(
                f"{where}: {name} has shape {found}, the config says {wanted}; take a matching config"
            )


def _write_weights(directory: Path, model: nn.Module, spec: ModelSpec, dtype: SavedDtype) -> None:
    tensors = dict(with_dense_head(head_parameters(model)))
    reason = transformers_incompatibility(spec)
    if not reason:
        tensors = tensors_to_transformers(tensors, spec.config)
    elif spec.adapters:
        tensors = to_saved_names(tensors, spec.config)
    write_tensors(directory / SAFETENSORS, in_dtype(tensors, dtype))
    if reason:
        logger.info("transformers loads the saved model with trust_remote_code=True: %s", reason)
    for name in REMOTE_CODE if reason else ():
        write_bytes(directory / name, (files("litebert.model.io") / "remote_code" / name).read_bytes())
