"""The tokenizer and the model of a fine-tuning run before its training, and the parameters that it trains."""

import logging
from pathlib import Path
from typing import Any

from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.finetune.start.model_limits import validate_fits_model
from litebert.errors import ConfigError
from litebert.files import path_of
from litebert.inference.pretraining_record import pretraining_record
from litebert.model.config import ModelConfig
from litebert.model.io.hub import is_released, local_model_directory, model_directory
from litebert.model.io.model_directory import build, load_model
from litebert.model.io.model_spec import LABELLED, ModelSpec, read_model_spec
from litebert.model.layers.lora import attach
from litebert.model.param_groups import count_parameters, freeze, layer_depths
from litebert.model.presets import preset, preset_named
from litebert.tasks.labelled_data import Task
from litebert.tasks.types.registry import get_task_type
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


def load_start(run: FinetuneRun, task: Task) -> tuple[Tokenizer, nn.Module]:
    """The tokenizer and the model with its new head; ConfigError if they do not fit the data or each other."""
    source = _source(run)
    tokenizer_directory = run.tokenizer or source
    if tokenizer_directory is None:
        raise ConfigError(f"tokenizer: {run.model!r} is a preset, which has none; give a tokenizer directory")
    tokenizer = Tokenizer.load(tokenizer_directory)
    if source is None or run.from_scratch:
        model = _random_model(run, source, task, tokenizer)
    else:
        model = _pretrained(run, source, task, tokenizer)
    run.compute.apply(model)
    return tokenizer, model


def start_config(run: FinetuneRun) -> ModelConfig:
    """The architecture of the model that a run starts from."""
    return _config_of(run, _source(run))


def output_names(task: Task) -> tuple[str, ...]:
    """Names of the model's outputs: the labels, or the column of the score; none for models without classes."""
    is_labelled = get_task_type(task.task_type).model in LABELLED
    return (task.labels or (task.label,)) if is_labelled else ()


def set_trainable(model: nn.Module, run: FinetuneRun) -> dict[str, float]:
    """Attach adapters and freeze parameters as set; the learning rate multiplier of each parameter by name."""
    if run.adapters:
        attach(model, run.adapters, seed=run.seed)
    freeze(model, run.freeze or ("encoder" if run.adapters else "nothing"))
    trained, total = count_parameters(model)
    logger.info("training %s of %s parameters (%.2f %%)", f"{trained:,}", f"{total:,}", 100 * trained / total)
    depths = layer_depths(model)
    if run.layerwise_lr_decay < 1:
        logger.info(
            "layer-wise learning rate decay of %g, at most %d times",
            run.layerwise_lr_decay,
            max(depths.values()),
        )
    return {name: run.layerwise_lr_decay**depth for name, depth in depths.items()}


def _pretrained(run: FinetuneRun, source: Path, task: Task, tokenizer: Tokenizer) -> nn.Module:
    spec = read_model_spec(source)
    _validate_sizes(run, spec.config, tokenizer)
    task_type = get_task_type(task.task_type)
    if run.keep_head:
        _validate_head(source, spec, task)
    head = "initialized randomly" if task_type.head and not run.keep_head else "kept"
    logger.info("%s: pretrained weights; the head is %s", source, head)
    return load_model(
        source,
        as_model=task_type.model,
        labels=output_names(task),
        fresh=() if run.keep_head else task_type.head,
        changes=_config_changes(run),
        seed=run.seed,
    )


def warn_untrained_positions(run: FinetuneRun, config: ModelConfig, *, max_length: int) -> None:
    """Log a warning if inputs have absolute positions that no example of the pretraining reached.

    For a model at a path: a name on the hub would be looked up again.
    """
    if run.from_scratch or config.position_embedding != "absolute" or not path_of(run.model).is_dir():
        return
    source = local_model_directory(run.model)
    record = pretraining_record(source)
    if record is None or max_length <= (trained := record["sampling"]["max_length"]):
        return
    logger.warning(
        "max_length: %d tokens, but %s was pretrained with at most %d and has absolute positions: what follows is read "
        "worse until fine-tuning has trained the positions; compare with max_length=%d, for long texts with "
        "long_texts=windows",
        *(max_length, source, trained, trained),
    )


def _source(run: FinetuneRun) -> Path | None:
    """The model directory that `run.model` names, downloaded if it is on the hub; None for a preset."""
    if preset_named(run.model) is None:
        return model_directory(run.model)
    if not run.from_scratch:
        on_hub = f"albert/{run.model}, its weights on the hub" if is_released(run.model) else "a model directory"
        raise ConfigError(
            f"model: {run.model!r} is a preset, which has no weights; give {on_hub}, or set from_scratch=true to start "
            "from random weights"
        )
    return None


def _config_of(run: FinetuneRun, source: Path | None) -> ModelConfig:
    return read_model_spec(source).config if source else preset(run.model)


def _validate_head(source: Path, spec: ModelSpec, task: Task) -> None:
    model, names = get_task_type(task.task_type).model, output_names(task)
    # The output of a regression is named by the column of its scores, which may have another name here.
    if spec.model != model or (spec.labels != names and (task.labels or len(spec.labels) != len(names))):
        found = f"a {spec.model}" + (f" for {', '.join(spec.labels)}" if spec.labels else "")
        expected = f"a {model}" + (f" for {', '.join(names)}" if names else "")
        raise ConfigError(f"keep_head: {source} is {found}, but the data need {expected}; set keep_head=false")


def _random_model(run: FinetuneRun, source: Path | None, task: Task, tokenizer: Tokenizer) -> nn.Module:
    logger.warning("%s: all weights are initialized randomly (from_scratch)", run.model)
    config = _config_of(run, source).replace(vocab_size=tokenizer.vocab_size, **_config_changes(run))
    _validate_sizes(run, config, tokenizer)
    spec = ModelSpec(model=get_task_type(task.task_type).model, config=config, labels=output_names(task))
    return build(spec, seed=run.seed)


def _config_changes(run: FinetuneRun) -> dict[str, Any]:
    """Fields of the model's config that fine-tuning sets."""
    pooling = {} if run.classifier_pooling is None else {"classifier_pooling": run.classifier_pooling}
    return {
        "hidden_dropout_prob": run.hidden_dropout_prob,
        "attention_probs_dropout_prob": run.attention_probs_dropout_prob,
        "classifier_dropout_prob": run.classifier_dropout_prob,
        **pooling,
    }


def _validate_sizes(run: FinetuneRun, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"tokenizer: its vocabulary has {tokenizer.vocab_size} tokens, the model's {config.vocab_size}; give the "
            "tokenizer that the model was pretrained with"
        )
    validate_fits_model(config, max_length=run.max_length, elastic_depth=run.elastic_depth)
