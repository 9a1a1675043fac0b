"""ALBERT checkpoints of the original TensorFlow code, both ways. Before: `bundle`. After: `convert`.

Beside the checkpoint lies `albert_config.json`. Its "gelu" is the tanh form, `gelu_new` here. Pretraining, GLUE, RACE
and both SQuAD checkpoints are told apart by their heads; optimizer state is left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from litebert.errors import CheckpointError, ConfigError
from litebert.files import MANIFEST, atomic_directory, read_json_object, verify_manifest, write_json, write_text
from litebert.interop.tensor_bundle import Bundle, open_bundle, write_bundle
from litebert.model.config import ModelConfig
from litebert.model.io.hf_weights import Renamed
from litebert.model.io.model_directory import check_replaceable, write_extra_files
from litebert.model.io.model_spec import LABELLED, ModelName, ModelSpec
from litebert.model.io.tensor_names import TensorNames, groups_in, tensor_names

CONFIG: Final = "albert_config.json"
PREFIX: Final = "model.ckpt-best"

_HUB_SCOPE: Final = "module/"
_OPTIMIZER_ENDINGS: Final = ("/adam_m", "/adam_v", "/lamb_m", "/lamb_v")
_COUNTERS: Final = ("global_step", "beta1_power", "beta2_power")
_ACTIVATIONS: Final = {"gelu": "gelu_new", "relu": "relu"}
# Keys of released files that the original code never reads, with the one value they have.
_DEAD_KEYS: Final = {"net_structure_type": 0, "gap_size": 0, "num_memory_blocks": 0, "down_scale_factor": 1}
_FIELDS: Final = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_hidden_groups",
    "num_attention_heads",
    "intermediate_size",
    "inner_group_num",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
)
# The first variable that is there names the model.
_SIGNS: Final[tuple[tuple[str, ModelName], ...]] = (
    ("start_logits/dense/kernel", "ForQuestionAnsweringWithNoAnswer"),
    ("cls/squad/output_weights", "ForQuestionAnswering"),
    ("output_weights", "ForSequenceClassification"),
    ("cls/seq_relationship/output_weights", "ForPretraining"),
    ("cls/predictions/output_bias", "ForMaskedLM"),
    ("bert/embeddings/word_embeddings", "SentenceEmbedder"),
)


@dataclass(frozen=True)
class Original:
    """A TensorFlow checkpoint that was read and checked, not yet a model."""

    description: ModelSpec
    renamed: Renamed
    ignored_settings: tuple[str, ...]
    """Keys of its config that mean nothing here."""


def read_tf_checkpoint(
    path: Path, *, config: Path | None = None, as_model: ModelName | None = None, labels: Collection[str] = ()
) -> Original:
    """The checkpoint at a prefix, at an `.index` file or in a directory; every tensor's check sum is verified.

    Args:
        path: where the checkpoint is.
        config: its `albert_config.json`; None: the one beside it.
        as_model: the model it belongs to, where the variables do not say: a head with one output is RACE's or STS-B's.
        labels: names of a classifier's classes.
    """
    bundle = open_bundle(path)
    if (bundle.prefix.parent / MANIFEST).is_file():
        verify_manifest(bundle.prefix.parent)
    settings, ignored = read_config(config or bundle.prefix.with_name(CONFIG))
    variables = {_without_scope(name): name for name in bundle.entries}
    model = as_model or _model_of(bundle, variables)
    renamed = _rename(bundle, variables, settings)
    classes = _classes(renamed.tensors, model=model)
    names = tuple(labels) or tuple(f"LABEL_{index}" for index in range(classes))
    if classes not in (0, len(names)):
        raise ConfigError(
            f"labels: {len(names)} names, but the classifier in {bundle.index_file} has {classes} classes"
        )
    values = {"model": model, "config": settings.to_dict(), "labels": names}
    return Original(ModelSpec.parse(values, where=str(bundle.prefix)), renamed, ignored)


def write_tf_checkpoint(
    directory: Path,
    description: ModelSpec,
    tensors: Mapping[str, Tensor],
    *,
    extra_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a directory with `model.ckpt-best` and `albert_config.json` that the original code loads."""
    values = tf_config(description)
    names = {row.ours: row for row in tensor_names(description.config)}
    arrays = {str(names[name].tensorflow): _array(tensor, names[name]) for name, tensor in tensors.items()}
    check_replaceable(directory, CONFIG)
    with atomic_directory(directory) as temporary:
        write_bundle(temporary / PREFIX, arrays)
        write_json(temporary / CONFIG, values)
        write_text(temporary / "checkpoint", f'model_checkpoint_path: "{PREFIX}"\n')
        write_extra_files(temporary, extra_files or {})


def read_config(path: Path) -> tuple[ModelConfig, tuple[str, ...]]:
    """The config in an `albert_config.json`, and the keys of it that mean nothing here."""
    values = read_json_object(path, if_missing="put the config of the checkpoint there or name it")
    for key, meant in _DEAD_KEYS.items():
        if values.get(key, meant) != meant:
            raise ConfigError(f"{path}: {key} is {values[key]!r}, expected {meant}; this variant is not supported")
    known = {key: value for key, value in values.items() if key in _FIELDS}
    activation = known.get("hidden_act", "gelu")
    if activation not in _ACTIVATIONS:
        raise ConfigError(f"{path}: hidden_act is {activation!r}, expected one of {', '.join(_ACTIVATIONS)}")
    config = ModelConfig.parse({**known, "hidden_act": _ACTIVATIONS[activation]}, where=str(path))
    if groups_in(config, "tensorflow") != config.num_hidden_groups:
        raise ConfigError(
            f"{path}: the original code runs other groups than num_hidden_groups {config.num_hidden_groups} of "
            f"{config.num_hidden_layers} layers says, by a rounding error; this depth is not supported"
        )
    return config, tuple(key for key in values if key not in _FIELDS)


def tf_config(description: ModelSpec) -> dict[str, Any]:
    """The content of `albert_config.json`; raises ConfigError for what the original code cannot run."""
    config = description.config
    activations = {ours: theirs for theirs, ours in _ACTIVATIONS.items()}
    groups = groups_in(config, "tensorflow")
    reasons = {
        "has no token classifier": description.model == "ForTokenClassification",
        f"has no activation {config.hidden_act!r}": config.hidden_act not in activations,
        "has layer_norm_eps 1e-12": config.layer_norm_eps != 1e-12,
        "cannot share parameters so": groups is None,
        "has no projection at equal sizes": config.has_projection and config.embedding_size == config.hidden_size,
    }
    for reason, hinders in reasons.items():
        if hinders:
            raise ConfigError(f"model: the original TensorFlow code {reason}; keep our own form")
    values = {name: value for name, value in config.to_dict().items() if name in _FIELDS}
    return {**values, "num_hidden_groups": groups, "hidden_act": activations[config.hidden_act]}


def _without_scope(name: str) -> str:
    return name.removeprefix(_HUB_SCOPE)


def _model_of(bundle: Bundle, variables: Mapping[str, str]) -> ModelName:
    for sign, model in _SIGNS:
        if sign not in variables:
            continue
        if sign == "output_weights" and bundle.entries[variables[sign]].shape[:1] == (1,):
            raise ConfigError(
                f"{bundle.index_file}: the head has one output, which is a choice (RACE) or a number (STS-B); "
                f"say which model it is: ForMultipleChoice or ForSequenceClassification"
            )
        return model
    raise CheckpointError(f"{bundle.index_file}: holds no ALBERT, there is no {_SIGNS[-1][0]!r}; check the path")


def _rename(bundle: Bundle, variables: Mapping[str, str], config: ModelConfig) -> Renamed:
    """Every variable that has a name here; the others are not even read."""
    rows = {row.tensorflow: row for row in tensor_names(config) if row.tensorflow and row.tensorflow in variables}
    tensors = {row.ours: _tensor(bundle.read(variables[name]), row) for name, row in rows.items()}
    mapped = tuple((variables[name], row.ours) for name, row in rows.items())
    dropped = tuple((name, _reason(bare)) for bare, name in variables.items() if bare not in rows)
    return Renamed(tensors, config, mapped, dropped)


def _reason(name: str) -> str:
    slot = name.endswith(_OPTIMIZER_ENDINGS) or name in _COUNTERS
    return "state of the optimizer" if slot else "has no place in this model"


def _classes(tensors: Mapping[str, Tensor], *, model: ModelName) -> int:
    return len(tensors["classifier.weight"]) if model in LABELLED and "classifier.weight" in tensors else 0


def _tensor(array: np.ndarray, row: TensorNames) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array.T if row.transposed else array)).to(torch.float32)


def _array(tensor: Tensor, row: TensorNames) -> np.ndarray:
    array = tensor.detach().to("cpu", torch.float32).numpy()
    return np.ascontiguousarray(array.T) if row.transposed else array
