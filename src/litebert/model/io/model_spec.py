"""What `config.json` says of a model, in transformers' words or our own. Before: a file. After: `directory.py`.

A model that transformers can run is described in its words. What those cannot say (such as sharing "none" with one
group) stands beside them in a section `litebert`, which transformers carries along and ignores. Torch-free.
"""

import difflib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from litebert.errors import ConfigError
from litebert.files import read_json_object
from litebert.model.config import ModelConfig
from litebert.model.io.tensor_names import groups_in
from litebert.model.layers.lora_settings import LoRASettings
from litebert.settings import Settings

ModelName = Literal[
    "ForPretraining",
    "ForMaskedLM",
    "ForSequenceClassification",
    "ForMultipleChoice",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForQuestionAnsweringWithNoAnswer",
    "SentenceEmbedder",
]
ProblemType = Literal["regression", "single_label_classification", "multi_label_classification"]
Pooling = Literal["mean", "cls"]

HF_CLASSES: Final[dict[ModelName, str]] = {
    "ForPretraining": "AlbertForPreTraining",
    "ForMaskedLM": "AlbertForMaskedLM",
    "ForSequenceClassification": "AlbertForSequenceClassification",
    "ForMultipleChoice": "AlbertForMultipleChoice",
    "ForTokenClassification": "AlbertForTokenClassification",
    "ForQuestionAnswering": "AlbertForQuestionAnswering",
    "SentenceEmbedder": "AlbertModel",
}
"""The class of transformers that computes the same; the head of `ForQuestionAnsweringWithNoAnswer` exists only here."""
LABELLED: Final[tuple[ModelName, ...]] = ("ForSequenceClassification", "ForTokenClassification")
OWN_MODEL_TYPE: Final = "litebert"
CONFIG: Final = "config.json"

_SECTION: Final = "litebert"
_THEIR_ACTIVATIONS: Final = {"gelu_pytorch_tanh": "gelu_new", "swish": "silu"}
_UNSUPPORTED: Final[dict[str, tuple[object, ...]]] = {
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "down_scale_factor": (1,),
    "net_structure_type": (0,),
    "gap_size": (0,),
    "num_memory_blocks": (0,),
}
"""Keys that other code reads or once read, with the values that mean what every model here does."""

log = logging.getLogger(__name__)


class ModelSpec(Settings):
    """A model without its weights."""

    model: ModelName
    """Which class of `models.py`."""
    config: ModelConfig
    """The architecture."""
    labels: tuple[str, ...] = ()
    """Names of the classes, in the order of the logits; only for classifiers."""
    problem_type: ProblemType | None = None
    """How the classifier was trained, as far as known."""
    pooling: Pooling = Field(default="mean")
    """How a `SentenceEmbedder` makes one vector of many."""
    adapters: LoRASettings | None = None
    """Of adapters that could not be folded into the weights, because layers share a block but no adapters."""

    @model_validator(mode="after")
    def _check(self) -> "ModelSpec":
        if self.model in LABELLED and not self.labels:
            raise ValueError(f"a {self.model} needs at least one label")
        if self.model not in LABELLED and self.labels:
            raise ValueError(f"a {self.model} has no labels, found {len(self.labels)}")
        if self.problem_type == "single_label_classification" and len(self.labels) == 1:
            raise ValueError("single_label_classification with one label is no choice; use regression")
        return self


def read_model_spec(place: Path) -> ModelSpec:
    """What the `config.json` at `place` says of its model.

    Raises CheckpointError if it is missing or no JSON object, ConfigError if it describes no supported model.
    """
    file = config_file(place)
    return from_json(read_json_object(file, if_missing="give the path of a model directory"), where=str(file))


def config_file(place: Path) -> Path:
    """The `config.json` of a model directory; `place` may be that file itself."""
    return place / CONFIG if place.is_dir() else place


def transformers_incompatibility(description: ModelSpec) -> str | None:
    """Why transformers cannot run this model; None if it can."""
    if description.model not in HF_CLASSES:
        return f"transformers has no class with the head of {description.model}"
    if description.adapters:
        return "transformers cannot give the layers that share a block adapters of their own"
    if groups_in(description.config, "transformers") is None:
        return f"transformers cannot share parameters as {_sharing(description.config)} does"
    return None


def to_json(description: ModelSpec) -> dict[str, Any]:
    """The content of `config.json`: transformers' words where `transformers_incompatibility` is None, our own otherwise."""
    if transformers_incompatibility(description):
        return {"model_type": OWN_MODEL_TYPE, _SECTION: description.to_dict()}
    plain = to_transformers(description.config) | _their_labels(description)
    plain["architectures"] = [HF_CLASSES[description.model]]
    if description.problem_type:
        plain["problem_type"] = description.problem_type
    if description.pooling != "mean":
        plain[_SECTION] = {**plain.get(_SECTION, {}), "pooling": description.pooling}
    return plain


def from_json(values: Mapping[str, Any], *, where: str) -> ModelSpec:
    """The description in a `config.json` of ours or of transformers; raises ConfigError that begins with `where`."""
    section = values.get(_SECTION, {})
    if not isinstance(section, Mapping):
        raise ConfigError(f"{where}: {_SECTION!r} is {section!r}, expected a mapping; take a fresh copy")
    if values.get("model_type") == OWN_MODEL_TYPE:
        return ModelSpec.parse(section, where=where)
    model = _model_name(values, where=where)
    described: dict[str, Any] = {
        "model": model,
        "config": from_transformers(values, where=where).to_dict(),
        "labels": _labels(values, where=where) if model in LABELLED else (),
        "problem_type": values.get("problem_type"),
        "pooling": section.get("pooling", "mean"),
    }
    return ModelSpec.parse(described, where=where)


def to_transformers(config: ModelConfig) -> dict[str, Any]:
    """The keys of transformers' `AlbertConfig`, and a section of ours for what they do not say."""
    groups = groups_in(config, "transformers")
    if groups is None:
        raise ConfigError(f"config: transformers cannot share parameters as {_sharing(config)} does; keep our own form")
    fields = config.to_dict()
    plain = {name: value for name, value in fields.items() if name not in ("sharing", "embedding_projection")}
    plain |= {"num_hidden_groups": groups, "model_type": "albert", "tie_word_embeddings": True}
    # Padding, [CLS] and [SEP] of the released vocabularies and of every tokenizer trained here.
    plain |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    understood = from_transformers(plain, where="config").to_dict()
    unsaid = {name: value for name, value in fields.items() if value != understood[name]}
    return {**plain, _SECTION: unsaid} if unsaid else plain


def from_transformers(values: Mapping[str, Any], *, where: str) -> ModelConfig:
    """The config that computes what transformers computes from these keys; keys without a meaning here are ignored."""
    _check_keys(values, where=where)
    names = set(ModelConfig.model_fields) - {"sharing", "embedding_projection"}
    plain = {name: value for name, value in values.items() if name in names and value is not None}
    plain["hidden_act"] = _THEIR_ACTIVATIONS.get(str(plain.get("hidden_act")), plain.get("hidden_act", "gelu_new"))
    if "classifier_dropout_prob" in values and values["classifier_dropout_prob"] is None:
        plain["classifier_dropout_prob"] = plain.get("hidden_dropout_prob", 0.0)
    # transformers has a projection at any size; only at equal sizes must we be told.
    if plain.get("embedding_size", 128) == plain.get("hidden_size"):
        plain["embedding_projection"] = "always"
    section = values.get(_SECTION, {})
    unsaid = {name: section[name] for name in section if name in ModelConfig.model_fields}
    config = ModelConfig.parse({**plain, **unsaid}, where=where)
    groups = groups_in(config, "transformers")
    if groups != values.get("num_hidden_groups", 1):
        raise ConfigError(
            f"{where}: num_hidden_groups is {values.get('num_hidden_groups', 1)}, but transformers does not run "
            f"{_sharing(config)} with it; correct the config"
        )
    return config


def _sharing(config: ModelConfig) -> str:
    return f"sharing {config.sharing!r} with {config.num_hidden_groups} groups in {config.num_hidden_layers} layers"


def _their_labels(description: ModelSpec) -> dict[str, Any]:
    if not description.labels:
        return {}
    names = {str(index): label for index, label in enumerate(description.labels)}
    return {"id2label": names, "label2id": {label: index for index, label in enumerate(description.labels)}}


def _labels(values: Mapping[str, Any], *, where: str) -> tuple[str, ...]:
    names = values.get("id2label")
    if names is None:
        number = values.get("num_labels", 2)
        if not isinstance(number, int) or not 0 < number <= 1_000_000:
            raise ConfigError(f"{where}: num_labels is {number!r}, expected a positive number")
        return tuple(f"LABEL_{index}" for index in range(number))
    expected = [str(index) for index in range(len(names))] if isinstance(names, Mapping) else None
    if not names or expected is None or sorted(names, key=str) != sorted(expected):
        raise ConfigError(f"{where}: id2label is {names!r}, expected the names of classes 0, 1, 2, …")
    return tuple(str(names[index]) for index in expected)


def _model_name(values: Mapping[str, Any], *, where: str) -> ModelName:
    if values.get("model_type") != "albert":
        raise ConfigError(
            f"{where}: model_type is {values.get('model_type')!r}, expected 'albert'; use an ALBERT model"
        )
    theirs = values.get("architectures") or ["AlbertModel"]
    names = {their: ours for ours, their in HF_CLASSES.items()}
    if not isinstance(theirs, list) or theirs[0] not in names:
        raise ConfigError(f"{where}: architectures is {theirs!r}, expected one of {', '.join(names)}")
    return names[theirs[0]]


def _check_keys(values: Mapping[str, Any], *, where: str) -> None:
    """Refuse values that would change what is computed, and keys that look like a known one misspelt."""
    for key, meant in _UNSUPPORTED.items():
        if key in values and values[key] not in meant:
            raise ConfigError(
                f"{where}: {key} is {values[key]!r}, expected {meant[0]!r}; this variant is not supported"
            )
    known = set(ModelConfig.model_fields)
    for key in sorted(set(values) - known - set(_UNSUPPORTED)):
        close = difflib.get_close_matches(key, known - set(values), n=1, cutoff=0.9)
        if close:
            raise ConfigError(f"{where}: unknown key {key!r}; did you mean {close[0]!r}?")
