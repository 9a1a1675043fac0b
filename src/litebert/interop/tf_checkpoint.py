"""Reads and writes TensorFlow checkpoints of google-research/albert.

The config is `albert_config.json` beside the checkpoint; its "gelu" is the tanh form, litebert's `gelu_new`. The model
(pretraining, GLUE, RACE, SQuAD 1.1 or 2.0) is recognised by the variables of its head. Optimizer state is dropped.
"""

import glob
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from litebert.errors import CheckpointError, ConfigError
from litebert.files import read_json_object, write_json, write_text
from litebert.interop.tensor_bundle import Bundle, index_file, open_bundle, prefix_of, write_bundle
from litebert.manifest import MANIFEST, atomic_directory, verify_manifest
from litebert.model.config import ModelConfig
from litebert.model.io.default_labels import default_labels
from litebert.model.io.hf_weights import MappedWeights
from litebert.model.io.model_directory import write_extra_files
from litebert.model.io.model_spec import LABELLED, ModelName, ModelSpec, missing_in_albert
from litebert.model.io.replaced_directories import TF_FILES, check_replaceable
from litebert.model.io.tensor_names import TensorNames, groups_in, tensor_names

CONFIG: Final = "albert_config.json"
PREFIX: Final = "model.ckpt-best"

_HUB_SCOPE: Final = "module/"
_OPTIMIZER_ENDINGS: Final = ("/adam_m", "/adam_v", "/lamb_m", "/lamb_v")
_COUNTERS: Final = ("global_step", "beta1_power", "beta2_power")
_ACTIVATIONS: Final = {"gelu": "gelu_new", "relu": "relu"}
# Keys of released files that google-research/albert never reads, with the only supported value.
_UNUSED_KEYS: Final = {"net_structure_type": 0, "gap_size": 0, "num_memory_blocks": 0, "down_scale_factor": 1}
_FIELDS: Final = (
    *("vocab_size", "embedding_size", "hidden_size", "num_hidden_layers", "num_hidden_groups", "num_attention_heads"),
    *("intermediate_size", "inner_group_num", "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("max_position_embeddings", "type_vocab_size", "initializer_range"),
)
# The first variable found decides the model.
_HEAD_VARIABLES: Final[tuple[tuple[str, ModelName], ...]] = (
    ("start_logits/dense/kernel", "ForQuestionAnsweringWithNoAnswer"),
    ("cls/squad/output_weights", "ForQuestionAnswering"),
    ("output_weights", "ForSequenceClassification"),
    ("cls/seq_relationship/output_weights", "ForPretraining"),
    ("cls/predictions/output_bias", "ForMaskedLM"),
    ("bert/embeddings/word_embeddings", "SentenceEmbedder"),
)


@dataclass(frozen=True)
class SourceModel:
    """What is read from a checkpoint: spec and weights."""

    spec: ModelSpec
    weights: MappedWeights
    ignored_settings: tuple[str, ...]
    """Keys of its config without an equivalent; none in model directories."""


def read_tf_checkpoint(path: Path, *, as_model: ModelName | None = None, labels: Collection[str] = ()) -> SourceModel:
    """The checkpoint at a prefix, at an `.index` file or in a directory; every checksum is verified.

    `albert_config.json` must be beside it. `as_model` is required where the variables are ambiguous: a head with one
    output is RACE's or STS-B's. `labels` are the names of the classes.
    """
    bundle = open_bundle(path)
    if (bundle.prefix.parent / MANIFEST).is_file():
        verify_manifest(bundle.prefix.parent)
    settings, ignored = read_config(bundle.prefix.with_name(CONFIG))
    variables = {name.removeprefix(_HUB_SCOPE): name for name in bundle.entries}
    model = as_model or _model_of(bundle, variables)
    weights = _map_variables(bundle, variables, settings)
    is_classifier = model in LABELLED and "classifier.weight" in weights.tensors
    classes = len(weights.tensors["classifier.weight"]) if is_classifier else 0
    names = tuple(labels) or default_labels(classes)
    if classes not in (0, len(names)):
        raise ConfigError(
            f"labels: {len(names)} names, but the classifier in {index_file(bundle.prefix)} has {classes} classes"
        )
    values = {"model": model, "config": settings.to_dict(), "labels": names}
    return SourceModel(ModelSpec.parse(values, where=str(bundle.prefix)), weights, ignored)


def checkpoint_files(path: Path) -> list[Path]:
    """The files that `read_tf_checkpoint` reads: config, index and data; none if there is no index."""
    prefix = prefix_of(path)
    data = sorted(prefix.parent.glob(f"{glob.escape(prefix.name)}.data-*"))
    config, index = prefix.with_name(CONFIG), index_file(prefix)
    return [*([config] if config.is_file() else []), index, *data] if index.is_file() else []


def write_tf_checkpoint(
    directory: Path, spec: ModelSpec, tensors: Mapping[str, Tensor], *, extra_files: Mapping[str, bytes] | None = None
) -> None:
    """Write a directory with `model.ckpt-best` and `albert_config.json` that google-research/albert loads."""
    values = tf_config(spec)
    names = {row.litebert: row for row in tensor_names(spec.config)}
    arrays = {str(names[name].tensorflow): _array(tensor, names[name]) for name, tensor in tensors.items()}
    check_replaceable(directory, is_own=(directory / CONFIG).is_file(), names=TF_FILES)
    with atomic_directory(directory) as temporary:
        write_bundle(temporary / PREFIX, arrays)
        write_json(temporary / CONFIG, values)
        write_text(temporary / "checkpoint", f'model_checkpoint_path: "{PREFIX}"\n')
        write_extra_files(temporary, extra_files or {})


def read_config(path: Path) -> tuple[ModelConfig, tuple[str, ...]]:
    """The config in an `albert_config.json`, and its keys without an equivalent."""
    values = read_json_object(path, if_missing="put the config of the checkpoint there")
    for key, supported in _UNUSED_KEYS.items():
        if values.get(key, supported) != supported:
            raise ConfigError(f"{path}: {key} is {values[key]!r}, expected {supported}; this variant is not supported")
    known = {key: value for key, value in values.items() if key in _FIELDS}
    activation = known.get("hidden_act", "gelu")
    if activation not in _ACTIVATIONS:
        raise ConfigError(f"{path}: hidden_act is {activation!r}, expected one of {', '.join(_ACTIVATIONS)}")
    config = ModelConfig.parse({**known, "hidden_act": _ACTIVATIONS[activation]}, where=str(path))
    if groups_in(config, "tensorflow") != config.num_hidden_groups:
        raise ConfigError(
            f"{path}: google-research/albert runs other groups than num_hidden_groups {config.num_hidden_groups} of "
            f"{config.num_hidden_layers} layers means, because of a rounding error; this depth is not supported"
        )
    return config, tuple(key for key in values if key not in _FIELDS)


def tf_config(spec: ModelSpec) -> dict[str, Any]:
    """The content of `albert_config.json`; raises ConfigError if google-research/albert cannot run the model."""
    config = spec.config
    activations = {name: tf_name for tf_name, name in _ACTIVATIONS.items()}
    groups = groups_in(config, "tensorflow")
    reasons = {
        "has no token classifier": spec.model == "ForTokenClassification",
        f"has no activation {config.hidden_act!r}": config.hidden_act not in activations,
        "has layer_norm_eps 1e-12": config.layer_norm_eps != 1e-12,
        f"has no {', '.join(missing_in_albert(spec))}": bool(missing_in_albert(spec)),
        "cannot share parameters so": groups is None,
        "has no projection at equal sizes": config.has_projection and config.embedding_size == config.hidden_size,
    }
    for reason, applies in reasons.items():
        if applies:
            raise ConfigError(f"model: google-research/albert {reason}; convert to 'litebert' instead")
    values = {name: value for name, value in config.to_dict().items() if name in _FIELDS}
    return {**values, "num_hidden_groups": groups, "hidden_act": activations[config.hidden_act]}


def _model_of(bundle: Bundle, variables: Mapping[str, str]) -> ModelName:
    for name, model in _HEAD_VARIABLES:
        if name not in variables:
            continue
        if name == "output_weights" and bundle.entries[variables[name]].shape[:1] == (1,):
            raise ConfigError(
                f"{index_file(bundle.prefix)}: the head has one output, which is a choice (RACE) or a number (STS-B); "
                f"give the model: ForMultipleChoice or ForSequenceClassification"
            )
        return model
    raise CheckpointError(
        f"{index_file(bundle.prefix)}: not an ALBERT checkpoint, it lacks {_HEAD_VARIABLES[-1][0]!r}; check the path"
    )


def _map_variables(bundle: Bundle, variables: Mapping[str, str], config: ModelConfig) -> MappedWeights:
    """The variables of the model; others are not read."""
    rows = {row.tensorflow: row for row in tensor_names(config) if row.tensorflow and row.tensorflow in variables}
    tensors = {row.litebert: _tensor(bundle.read(variables[name]), row) for name, row in rows.items()}
    mapped = tuple((variables[name], row.litebert) for name, row in rows.items())
    state = {bare for bare in variables if bare.endswith(_OPTIMIZER_ENDINGS) or bare in _COUNTERS}
    reasons = {bare: "optimizer state" if bare in state else "not part of this model" for bare in variables}
    dropped = tuple((name, reasons[bare]) for bare, name in variables.items() if bare not in rows)
    return MappedWeights(tensors, config, mapped, dropped)


def _tensor(array: np.ndarray, row: TensorNames) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array.T if row.transposed else array)).to(torch.float32)


def _array(tensor: Tensor, row: TensorNames) -> np.ndarray:
    array = tensor.detach().to("cpu", torch.float32).numpy()
    return np.ascontiguousarray(array.T) if row.transposed else array
