"""`ModelSpec`: a model without its weights, read from and written to `config.json`. Torch-free.

A model that transformers can run has the keys of `AlbertConfig`. What these cannot express (such as sharing "none"
with one group) is in a section `litebert`, which transformers ignores. Other models have `model_type` "litebert" and
the code of `remote_code/`, which transformers runs with `trust_remote_code=True`; in a checkpoint, only the section.
"""

import difflib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import Field, model_validator

from litebert.errors import ConfigError, suggestion
from litebert.files import read_json_object
from litebert.model.config import ModelConfig, Pooling
from litebert.model.io.default_labels import default_labels
from litebert.model.io.sentence_transformers_settings import sentence_transformers_settings
from litebert.model.io.tensor_names import TargetFormat, groups_in
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
TrainedPairing = Literal["sop", "nsp", "none"]
SavedDtype = Literal["float32", "float16", "bfloat16"]
"""Of the weights in a model directory; these names are attributes of torch."""

HF_CLASSES: Final[dict[ModelName, str]] = {
    "ForPretraining": "AlbertForPreTraining",
    "ForMaskedLM": "AlbertForMaskedLM",
    "ForSequenceClassification": "AlbertForSequenceClassification",
    "ForMultipleChoice": "AlbertForMultipleChoice",
    "ForTokenClassification": "AlbertForTokenClassification",
    "ForQuestionAnswering": "AlbertForQuestionAnswering",
    "SentenceEmbedder": "AlbertModel",
}
"""The equivalent class of transformers, which has none for `ForQuestionAnsweringWithNoAnswer`."""
REMOTE_CODE_CLASSES: Final[dict[ModelName, str]] = {
    **{model: name.replace("Albert", "Litebert") for model, name in HF_CLASSES.items()},
    "ForQuestionAnsweringWithNoAnswer": "LitebertForQuestionAnsweringWithNoAnswer",
}
"""The equivalent class of `remote_code/`."""
LABELLED: Final[tuple[ModelName, ...]] = ("ForSequenceClassification", "ForTokenClassification")
CLASSIFIERS_OF_SEQUENCES: Final[tuple[ModelName, ...]] = ("ForSequenceClassification", "ForMultipleChoice")
MASKED_LANGUAGE_MODELS: Final = ("ForPretraining", "ForMaskedLM")
"""Those with a masked-LM head."""
LITEBERT_MODEL_TYPE: Final = "litebert"
CONFIG: Final = "config.json"

_SECTION: Final = "litebert"
_OF_ONE_HEAD: Final[dict[str, ModelName]] = {
    "problem_type": "ForSequenceClassification",
    "pooling": "SentenceEmbedder",
    "max_length": "SentenceEmbedder",
    "pairing": "ForPretraining",
}
"""Fields that only this model reads. transformers copies them to every model that it makes from its directory."""
_HF_ACTIVATIONS: Final = {"gelu_pytorch_tanh": "gelu_new", "swish": "silu"}
_SUPPORTED_VALUES: Final[dict[str, tuple[object, ...]]] = {
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "down_scale_factor": (1,),
    "net_structure_type": (0,),
    "gap_size": (0,),
    "num_memory_blocks": (0,),
}
"""Keys of other implementations, with the values that litebert supports."""


class ModelSpec(Settings):
    """A model without its weights."""

    model: ModelName
    """Which class of `models.py`."""
    config: ModelConfig
    """The architecture."""
    labels: tuple[str, ...] = ()
    """Class names, in the order of the logits; only for classifiers."""
    problem_type: ProblemType | None = None
    """`problem_type` of transformers: the loss of the classifier, if known."""
    pooling: Pooling = Field(default="mean")
    """Pooling of a `SentenceEmbedder`."""
    max_length: int | None = Field(default=None, ge=3)
    """Tokens after which a `SentenceEmbedder` truncates a text; null: as many as it has positions."""
    pairing: TrainedPairing | None = None
    """`sampling.pairing` with which the sentence-pair head of a `ForPretraining` was trained; null: not recorded, as in
    released models, whose head is that of SOP."""
    adapters: LoRASettings | None = None
    """LoRA adapters that cannot be merged into the weights, because layers share a block but not the adapters."""

    @model_validator(mode="after")
    def _check(self) -> "ModelSpec":
        if self.model in LABELLED and not self.labels:
            raise ValueError(f"a {self.model} needs at least one label; give labels=[…]")
        if self.model not in LABELLED and self.labels:
            raise ValueError(f"a {self.model} has no labels, found {len(self.labels)}")
        if twice := [name for name, number in Counter(self.labels).items() if number > 1]:
            raise ValueError(f"labels: {twice[0]!r} is the name of several classes; give each class its own")
        if self.problem_type == "single_label_classification" and len(self.labels) == 1:
            raise ValueError("single_label_classification with one label is not a choice; use regression")
        if self.pairing is not None and self.model != "ForPretraining":
            raise ValueError(f"pairing: a {self.model} has no sentence-pair head; leave it out")
        return self


def read_model_spec(path: Path) -> ModelSpec:
    """The spec in a model directory or a `config.json`.

    Raises CheckpointError if it is missing or not a JSON object, ConfigError if the model is not supported.
    """
    file = config_file(path)
    spec = from_json(_read_config(path), where=str(file))
    if spec.model != "SentenceEmbedder":
        return spec
    positions = spec.config.max_position_embeddings
    return spec.replace(**sentence_transformers_settings(file.parent, positions=positions))


def has_own_names(path: Path) -> bool:
    """Whether the weights of a model directory have litebert's tensor names, and not those of transformers' ALBERT.

    `model_type` in `config.json` decides. The spec cannot: a model that was loaded with remote code is saved under
    litebert's names, also if its architecture is one that `AlbertModel` has.
    """
    return _read_config(path).get("model_type") == LITEBERT_MODEL_TYPE


def config_file(path: Path) -> Path:
    """The `config.json` of a model directory; `path` may be that file itself."""
    return path / CONFIG if path.is_dir() else path


def validate_target(to: TargetFormat, as_model: ModelName | None, dtype: SavedDtype = "float32") -> None:
    """Raise ConfigError for a model that the format has no files for, and for a dtype that it does not have."""
    validate_as_model(as_model)
    if to == "tensorflow" and dtype != "float32":
        raise ConfigError(f"dtype: is {dtype}, but a TensorFlow checkpoint has float32; leave it out")
    if to == "sentence-transformers" and as_model not in (None, "SentenceEmbedder"):
        raise ConfigError(f"as_model: sentence-transformers loads a SentenceEmbedder, not a {as_model}; leave it out")


def validate_as_model(as_model: str | None) -> None:
    """Raise ConfigError for a name of no model, such as that of a class of transformers; None is the saved model."""
    if as_model is not None and as_model not in get_args(ModelName):
        raise ConfigError(f"as_model: unknown {as_model!r}; {suggestion(as_model, get_args(ModelName))}")


def missing_in_albert(spec: ModelSpec) -> tuple[str, ...]:
    """Fields of the config that this model needs and other implementations of ALBERT do not have."""
    pooled = spec.model in CLASSIFIERS_OF_SEQUENCES and spec.config.classifier_pooling != "cls"
    return (*spec.config.non_albert_fields, *(["classifier_pooling"] if pooled else []))


def transformers_incompatibility(spec: ModelSpec) -> str | None:
    """Why transformers cannot load this model; None if it can."""
    if spec.model not in HF_CLASSES:
        return f"transformers has no class with the head of {spec.model}"
    if spec.adapters:
        return "transformers has no per-layer adapters for a shared block"
    if missing := missing_in_albert(spec):
        return f"transformers' ALBERT has no {', '.join(missing)}"
    if groups_in(spec.config, "transformers") is None:
        return f"transformers cannot share parameters as {_sharing(spec.config)} does"
    return None


def auto_class(model: ModelName) -> str:
    """The `Auto` class of transformers that loads a model, some with remote code."""
    name = HF_CLASSES.get(model, HF_CLASSES["ForQuestionAnswering"])
    return name.replace("AlbertFor", "AutoModelFor").replace("AlbertModel", "AutoModel")


def to_json(spec: ModelSpec) -> dict[str, Any]:
    """Content of `config.json`: the keys of transformers, or of its remote code where it has no such model."""
    remote = transformers_incompatibility(spec) is not None
    plain: dict[str, Any]
    if remote:
        plain = {"model_type": LITEBERT_MODEL_TYPE, "auto_map": _auto_map(spec.model), **spec.config.to_dict()}
    else:
        plain = config_to_transformers(spec.config)
    plain |= _hf_labels(spec)
    plain["architectures"] = [(REMOTE_CODE_CLASSES if remote else HF_CLASSES)[spec.model]]
    # What transformers computes in unless asked for another; without it, in that of the file, which may have 16 bits.
    plain["dtype"] = "float32"
    if spec.adapters:
        plain["adapters"] = spec.adapters.to_dict()
    if spec.problem_type:
        plain["problem_type"] = spec.problem_type
    pooling = None if spec.pooling == "mean" else spec.pooling
    own = {"pooling": pooling, "max_length": spec.max_length, "pairing": spec.pairing}
    if own := {name: value for name, value in own.items() if value is not None}:
        plain[_SECTION] = {**plain.get(_SECTION, {}), **own}
    return plain


def to_own_json(spec: ModelSpec) -> dict[str, Any]:
    """Content of `config.json` beside weights under litebert's names, which transformers refuses."""
    return {"model_type": LITEBERT_MODEL_TYPE, _SECTION: spec.to_dict()}


def from_json(values: Mapping[str, Any], *, where: str) -> ModelSpec:
    """The spec in a `config.json` of litebert or transformers; raises ConfigError that begins with `where`."""
    section = values.get(_SECTION, {})
    if not isinstance(section, Mapping):
        raise ConfigError(f"{where}: {_SECTION!r} is {section!r}, expected a mapping; take a fresh copy")
    remote = values.get("model_type") == LITEBERT_MODEL_TYPE
    if remote and "architectures" not in values:
        return ModelSpec.parse(section, where=where)
    model = _model_name(values, where=where)
    fields: dict[str, Any] = {
        "model": model,
        "config": _config(values, model, where=where),
        "labels": _labels(values, where=where) if model in LABELLED else (),
        "adapters": values.get("adapters") if remote else None,
    }
    for name, value in {**section, "problem_type": values.get("problem_type")}.items():
        if _OF_ONE_HEAD.get(name) == model:
            fields[name] = value
    return ModelSpec.parse(fields, where=where)


def config_to_transformers(config: ModelConfig) -> dict[str, Any]:
    """The keys of transformers' `AlbertConfig`, and a section `litebert` for what they cannot express."""
    groups = groups_in(config, "transformers")
    if groups is None:
        raise ConfigError(
            f"config: transformers cannot share parameters as {_sharing(config)} does; convert to 'litebert' instead"
        )
    fields = config.to_dict()
    plain = {name: value for name, value in fields.items() if name not in ("sharing", "embedding_projection")}
    plain |= {"num_hidden_groups": groups, "model_type": "albert", "tie_word_embeddings": True}
    # Padding, [CLS] and [SEP] of the released vocabularies and of every tokenizer that litebert trains.
    plain |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    read_back = config_from_transformers(plain, where="config").to_dict()
    extra = {name: value for name, value in fields.items() if value != read_back[name]}
    return {**plain, _SECTION: extra} if extra else plain


def config_from_transformers(values: Mapping[str, Any], *, where: str) -> ModelConfig:
    """The config equivalent to these keys of transformers' `AlbertConfig`; unknown keys are ignored."""
    _check_keys(values, where=where)
    names = set(ModelConfig.model_fields) - {"sharing", "embedding_projection"}
    plain = {name: value for name, value in values.items() if name in names and value is not None}
    plain["hidden_act"] = _HF_ACTIVATIONS.get(str(plain.get("hidden_act")), plain.get("hidden_act", "gelu_new"))
    if "classifier_dropout_prob" in values and values["classifier_dropout_prob"] is None:
        plain["classifier_dropout_prob"] = plain.get("hidden_dropout_prob", 0.0)
    # transformers has a projection at any size, litebert by default only where E differs from H.
    if plain.get("embedding_size", 128) == plain.get("hidden_size"):
        plain["embedding_projection"] = "always"
    section = values.get(_SECTION, {})
    extra = {name: section[name] for name in section if name in ModelConfig.model_fields}
    config = ModelConfig.parse({**plain, **extra}, where=where)
    groups = groups_in(config, "transformers")
    if groups != values.get("num_hidden_groups", 1):
        raise ConfigError(
            f"{where}: num_hidden_groups is {values.get('num_hidden_groups', 1)}, but transformers does not run "
            f"{_sharing(config)} with it; correct the config"
        )
    return config


def _read_config(path: Path) -> dict[str, Any]:
    return read_json_object(config_file(path), if_missing="give the path of a model directory")


def _config(values: Mapping[str, Any], model: ModelName, *, where: str) -> dict[str, Any]:
    """The fields of `ModelConfig`; those that are absent have their defaults."""
    if values.get("model_type") == LITEBERT_MODEL_TYPE:
        return {name: values[name] for name in ModelConfig.model_fields if name in values}
    fields = config_from_transformers(values, where=where).to_dict()
    # The section may be that of another head. In transformers ALBERT's own classifiers read the first token.
    return {**fields, "classifier_pooling": "cls"} if model in CLASSIFIERS_OF_SEQUENCES else fields


def _sharing(config: ModelConfig) -> str:
    return f"sharing {config.sharing!r} with {config.num_hidden_groups} groups in {config.num_hidden_layers} layers"


def _auto_map(model: ModelName) -> dict[str, str]:
    """The classes of the remote code that the `Auto` classes of transformers load from the directory of a `model`."""
    auto_map = {"AutoConfig": "configuration_litebert.LitebertConfig"}
    for name in HF_CLASSES:
        auto_map[auto_class(name)] = f"modeling_litebert.{REMOTE_CODE_CLASSES[name]}"
    if model == "ForQuestionAnsweringWithNoAnswer":
        auto_map[auto_class(model)] = f"no_answer_litebert.{REMOTE_CODE_CLASSES[model]}"
    return auto_map


def _hf_labels(spec: ModelSpec) -> dict[str, Any]:
    if not spec.labels:
        return {}
    names = {str(index): label for index, label in enumerate(spec.labels)}
    return {"id2label": names, "label2id": {label: index for index, label in enumerate(spec.labels)}}


def _labels(values: Mapping[str, Any], *, where: str) -> tuple[str, ...]:
    names = values.get("id2label")
    if names is None:
        number = values.get("num_labels", 2)
        if not isinstance(number, int) or not 0 < number <= 1_000_000:
            raise ConfigError(f"{where}: num_labels is {number!r}, expected a positive number")
        return default_labels(number)
    expected = [str(index) for index in range(len(names))] if isinstance(names, Mapping) else None
    if not names or expected is None or sorted(names, key=str) != sorted(expected):
        raise ConfigError(f"{where}: id2label is {names!r}, expected the names of classes 0, 1, 2, …")
    return tuple(str(names[index]) for index in expected)


def _model_name(values: Mapping[str, Any], *, where: str) -> ModelName:
    remote = values.get("model_type") == LITEBERT_MODEL_TYPE
    if not remote and values.get("model_type") != "albert":
        raise ConfigError(
            f"{where}: model_type is {values.get('model_type')!r}, expected 'albert'; use an ALBERT model"
        )
    classes = values.get("architectures") or ["AlbertModel"]
    names = {name: model for model, name in (REMOTE_CODE_CLASSES if remote else HF_CLASSES).items()}
    if not isinstance(classes, list) or classes[0] not in names:
        raise ConfigError(f"{where}: architectures is {classes!r}, expected one of {', '.join(names)}")
    return names[classes[0]]


def _check_keys(values: Mapping[str, Any], *, where: str) -> None:
    """Raise ConfigError for unsupported values, and for keys that look like a misspelt one."""
    for key, supported in _SUPPORTED_VALUES.items():
        if key in values and values[key] not in supported:
            raise ConfigError(
                f"{where}: {key} is {values[key]!r}, expected {supported[0]!r}; this variant is not supported"
            )
    known = set(ModelConfig.model_fields)
    for key in sorted(set(values) - known - set(_SUPPORTED_VALUES)):
        close = difflib.get_close_matches(key, known - set(values), n=1, cutoff=0.9)
        if close:
            raise ConfigError(f"{where}: unknown key {key!r}; did you mean {close[0]!r}?")
