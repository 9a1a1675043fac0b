"""Converts a checkpoint to another format and reports what became of every tensor."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.files import EVALUATION, PRETRAINING_SETTINGS, README, TASK, read_json_object
from litebert.interop.conversion_report import ConversionReport
from litebert.interop.conversion_source import (
    OF_THE_HEAD,
    is_tf_checkpoint,
    longest_input,
    validate_no_adapters,
    validate_sources_stay,
    vocabulary_directory,
)
from litebert.interop.sentence_transformers_files import write_sentence_transformers_files
from litebert.interop.tf_checkpoint import SourceModel, read_tf_checkpoint, write_tf_checkpoint
from litebert.model.io.hf_weights import IDENTITY, MappedWeights
from litebert.model.io.hub import model_directory
from litebert.model.io.model_directory import (
    build,
    in_module,
    load_weights,
    read_directory,
    save_model,
    updated_spec,
)
from litebert.model.io.model_spec import (
    MASKED_LANGUAGE_MODELS,
    ModelName,
    ModelSpec,
    SavedDtype,
    transformers_incompatibility,
    validate_target,
)
from litebert.model.io.tensor_names import Format, TargetFormat, tensor_names
from litebert.model.remapping.keep_first_layers import keep_first_layers
from litebert.model.remapping.remap_weights import remap_weights
from litebert.model.sharing_schedule import first_layers
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


def convert(
    source: Path | str,
    target: Path,
    *,
    to: TargetFormat,
    as_model: ModelName | None = None,
    labels: Collection[str] = (),
    allow_missing: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
    layers: int | None = None,
    tokenizer: Path | None = None,
    dtype: SavedDtype = "float32",
) -> ConversionReport:
    """Convert any checkpoint, with its tokenizer, to a model directory or a TensorFlow checkpoint.

    A model directory keeps the task and its settings if the head and its labels are the same, and the model card if
    config, layers and tokenizer are too: the scores of the card hold for no other model.

    Args:
        source: a run directory, a model directory of litebert or transformers, a name on the hub, or a TensorFlow
            checkpoint. `fetch` of `model/io/hub.py` returns the directory of a given revision.
        target: the directory to write.
        to: "litebert" writes a model directory, which transformers loads too if it can run the model;
            "transformers" raises an error if it cannot; "tensorflow" writes what google-research/albert loads;
            "sentence-transformers" writes the encoder as a `SentenceEmbedder`.
        as_model: another model than the source's, such as "ForPretraining".
        labels: class names of a classifier.
        allow_missing: modules, such as "sentence_pair", to initialize at random if the source lacks them.
        changes: fields of the config to change; weights are remapped to another depth, sharing or feed-forward width.
        layers: keep only the first so many layers, before `changes`; None: all.
        tokenizer: tokenizer directory or vocabulary file; None: the source's, if it has one.
        dtype: of the weights in a model directory; a TensorFlow checkpoint has float32 only.

    Raises:
        CheckpointError: the source is damaged, or lacks a tensor that is not in `allow_missing`.
        ConfigError: the format or `dtype` cannot express the model, or the tokenizer has more tokens than the model, or
            the model has not so many layers, or the source lies in `target`.
    """
    validate_target(to, as_model, dtype)
    place = Path(source) if is_tf_checkpoint(Path(source)) else model_directory(source)
    validate_sources_stay(target, [place])
    vocabulary = tokenizer or vocabulary_directory(place)
    known_tokenizer = Tokenizer.load(vocabulary) if vocabulary else None
    if to == "sentence-transformers":
        if known_tokenizer is None:
            raise ConfigError(f"{source}: has no tokenizer, which sentence-transformers needs; give --tokenizer")
        as_model = "SentenceEmbedder"
    loaded = _read(place, as_model=as_model, labels=labels)
    depth = loaded.spec.config.num_hidden_layers
    if layers is not None:
        loaded = _with_first_layers(loaded, layers)
        _warn_untrained_depth(place, layers, depth)
    spec = updated_spec(loaded.spec, as_model=as_model, labels=labels, changes=changes or {})
    tensors = remap_weights(loaded.weights.tensors, source=loaded.spec.config, target=spec.config)
    missing = _missing(spec, tensors, allow_missing)
    model = load_weights(spec, tensors, where=str(source), fresh=missing)
    files = {}
    if to != "tensorflow" and not (missing or labels or is_tf_checkpoint(place)):
        files |= _kept_files(place, loaded.spec, spec, card=tokenizer is None and layers is None)
    files |= _tokenizer_files(known_tokenizer, files, spec, place=place, target=target)
    on_disk = _write(target, model, spec, to=to, extra_files=files, dtype=dtype)
    outcomes = _outcomes(loaded.weights, spec, model.state_dict(), tensors, missing, on_disk=on_disk)
    return ConversionReport(
        source=str(source),
        target=str(target),
        target_format="litebert" if to == "sentence-transformers" else to,
        model=spec.model,
        missing=missing,
        ignored_settings=loaded.ignored_settings,
        mapped=outcomes.mapped,
        dropped=outcomes.dropped,
        remapped=outcomes.remapped,
        layers=None if layers is None else (layers, depth),
    )


def _read(place: Path, *, as_model: ModelName | None, labels: Collection[str]) -> SourceModel:
    """The model at `place`; raises ConfigError for one with adapters, which no other format has."""
    if is_tf_checkpoint(place):
        return read_tf_checkpoint(place, as_model=as_model, labels=labels)
    saved = read_directory(place, as_model=as_model)
    validate_no_adapters(saved, action="converted")
    return SourceModel(saved.spec, saved.weights, ignored_settings=())


def _warn_untrained_depth(place: Path, layers: int, depth: int) -> None:
    """Warn of a fine-tuned model that was not trained for this number of layers."""
    if layers >= depth or not (place / TASK).is_file():
        return
    file = place / EVALUATION
    if not file.is_file():  # as of a model that was converted
        logger.warning(
            "%s: has no %s, which says for which numbers of layers it was fine-tuned; unless it was with "
            "elastic_depth=[%d], the first %d alone predict worse",
            place,
            EVALUATION,
            layers,
            layers,
        )
        return
    depths = read_json_object(file, if_missing="").get("elastic_depth", [])
    if layers not in depths:
        trained = " or ".join(map(str, [*depths, depth]))
        logger.warning(
            "%s: fine-tuned with %s layers, so the first %d alone predict worse; fine-tune with elastic_depth=[%d], "
            "or convert the pretrained encoder and fine-tune that",
            place,
            trained,
            layers,
            layers,
        )


def _with_first_layers(loaded: SourceModel, layers: int) -> SourceModel:
    """The model with its first layers only; the mapping still names the tensors of the others."""
    config = first_layers(loaded.spec.config, layers)
    tensors = keep_first_layers(loaded.weights.tensors, config)
    weights = replace(loaded.weights, tensors=tensors, config=config)
    return replace(loaded, spec=loaded.spec.replace(config=config.to_dict()), weights=weights)


def _kept_files(place: Path, source: ModelSpec, target: ModelSpec, *, card: bool) -> dict[str, bytes]:
    """The files of the training if the head is the same, and with `card` the model card if the config is too.

    How examples of pretraining were drawn is also kept between the two models with a masked-LM head.
    """
    names = [*(OF_THE_HEAD if target.model == source.model else ()), *((README,) if card and target == source else ())]
    if {source.model, target.model} == set(MASKED_LANGUAGE_MODELS):
        names.append(PRETRAINING_SETTINGS)
    return {name: (place / name).read_bytes() for name in names if (place / name).is_file()}


def _tokenizer_files(
    tokenizer: Tokenizer | None, files: Mapping[str, bytes], spec: ModelSpec, *, place: Path, target: Path
) -> Mapping[str, bytes]:
    """The files of the tokenizer; ConfigError if it has more tokens than the model, a warning if there is none."""
    if tokenizer is None:
        logger.warning(
            "%s: has no spiece.model, vocab.txt or tokenizer.json, so %s gets no tokenizer; give --tokenizer, the "
            "directory or the vocabulary file of the original model",
            place,
            target,
        )
        return {}
    if tokenizer.vocab_size > spec.config.vocab_size:
        raise ConfigError(
            f"tokenizer: has {tokenizer.vocab_size} tokens, but the model only {spec.config.vocab_size}; "
            "give the tokenizer that the model was trained with"
        )
    return tokenizer.files(max_length=longest_input(files, spec))


class Outcomes(NamedTuple):
    """What became of each tensor, as in the fields of the report."""

    mapped: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]
    remapped: tuple[str, ...]


def _outcomes(
    weights: MappedWeights,
    spec: ModelSpec,
    state: Collection[str],
    tensors: Mapping[str, Tensor],
    missing: Collection[str],
    *,
    on_disk: Format,
) -> Outcomes:
    """What became of each tensor of `weights`, remapped to `tensors`; `state` names those of the target."""
    rows = {row.litebert: getattr(row, on_disk) or row.litebert for row in tensor_names(spec.config)}
    names = {name: rows[name] for name in state}
    before = weights.tensors
    changed = {name for name in tensors if name not in before or not torch.equal(tensors[name], before[name])}
    # transformers' format has the identity projection, which was dropped on reading.
    adds_identity = on_disk == "transformers" and not spec.config.has_projection
    identities = {name for name, reason in weights.dropped if reason == IDENTITY and adds_identity}
    kept = [(source_name, name) for source_name, name in weights.mapped if name not in changed]
    known = {*missing, *(name for _, name in kept)}
    unused = (
        (source_name, _reason(name) if name in weights.tensors else "of a layer that is left out")
        for source_name, name in weights.mapped
        if name not in names
    )
    return Outcomes(
        mapped=(
            *((source_name, names[name]) for source_name, name in kept if name in names),
            *((name, name) for name, _ in weights.dropped if name in identities),
        ),
        dropped=(*(entry for entry in weights.dropped if entry[0] not in identities), *unused),
        remapped=tuple(names[name] for name in names if name not in known),
    )


def _missing(spec: ModelSpec, tensors: Mapping[str, Tensor], allowed: Collection[str]) -> tuple[str, ...]:
    """Tensors that the source lacks and that are in `allowed`; for others `load_weights` raises an error."""
    expected = build(spec, device="meta").state_dict()
    unknown = [module for module in allowed if not any(in_module(name, module) for name in expected)]
    if unknown:
        raise ConfigError(f"allow_missing: {spec.model} has no {unknown[0]!r}; name a module such as 'sentence_pair'")
    absent = (name for name in expected if name not in tensors)
    return tuple(name for name in absent if any(in_module(name, module) for module in allowed))


def _write(
    target: Path,
    model: nn.Module,
    spec: ModelSpec,
    *,
    to: TargetFormat,
    extra_files: Mapping[str, bytes],
    dtype: SavedDtype,
) -> Format:
    """Write the model and return the format of its tensors."""
    if to == "tensorflow":
        write_tf_checkpoint(target, spec, model.state_dict(), extra_files=extra_files)
        return to
    reason = transformers_incompatibility(spec)
    if to == "transformers" and reason:
        raise ConfigError(f"{target}: {reason}; convert to 'litebert' instead")
    save_model(model, target, labels=spec.labels, problem_type=spec.problem_type, extra_files=extra_files, dtype=dtype)
    if to == "sentence-transformers":
        write_sentence_transformers_files(target)
    return "litebert" if reason else "transformers"


def _reason(name: str) -> str:
    block = name.startswith(("encoder.attentions.", "encoder.feed_forwards."))
    return "averaged into the remaining blocks" if block else "not part of this model"
