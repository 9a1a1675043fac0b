"""What fine-tuning starts from: a tokenizer, a pretrained encoder, a new head. Before: settings. After: `finetune`.

A tensor that is missing is an error; random weights must be asked for, and are said.
"""

import logging
from pathlib import Path

from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.run_directory import RunDirectory
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.hub import fetch
from litebert.model.io.model_directory import HUB, build, load_model
from litebert.model.io.model_spec import LABELLED, ModelSpec, read_model_spec
from litebert.model.presets import PRESETS, preset
from litebert.tasks.task_type import Task
from litebert.tasks.types.registry import KINDS
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


def start(run: FinetuneRun, task: Task) -> tuple[Tokenizer, nn.Module]:
    """The tokenizer and the model with its new head; everything that does not fit is refused here."""
    source = _source(run)
    tokenizer = Tokenizer.load(run.tokenizer or source)
    model = _random_model(run, task, tokenizer) if run.from_scratch else _pretrained(run, source, task, tokenizer)
    run.compute.apply(model)
    return tokenizer, model


def _pretrained(run: FinetuneRun, source: Path, task: Task, tokenizer: Tokenizer) -> nn.Module:
    found = read_model_spec(source)
    _validate_lengths(run, found.config, tokenizer)
    if run.keep_head:
        _validate_head(source, found, task)
    began = "the head is kept too" if run.keep_head else "the head starts from new ones"
    logger.info("%s: pretrained weights; %s", source, began)
    return load_model(
        source,
        as_model=KINDS[task.kind].model,
        labels=output_names(task),
        fresh=() if run.keep_head else KINDS[task.kind].head,
        changes=_dropouts(run),
        seed=run.seed,
    )


def output_names(task: Task) -> tuple[str, ...]:
    """Names of the model's outputs: the labels, or the column of the score; none where they are no classes."""
    return (task.labels or (task.label,)) if KINDS[task.kind].model in LABELLED else ()


def _source(run: FinetuneRun) -> Path:
    """The directory that `run.model` names, fetched from the hub if it is not here."""
    here = Path(run.model)
    if (here / "settings.yaml").is_file():
        here = _model_of_run(here)
    if here.is_dir() or run.from_scratch:
        if not here.is_dir() and run.tokenizer is None:
            raise ConfigError(f"tokenizer: {run.model!r} is an architecture without one; give a tokenizer directory")
        return here
    if run.model in PRESETS:
        raise ConfigError(
            f"model: {run.model!r} is an architecture, which has no weights; give a model directory, "
            "or set from_scratch=true to start from random weights"
        )
    return fetch(run.model, HUB)


def _model_of_run(run: Path) -> Path:
    """The model that an earlier run left."""
    directory = RunDirectory(run).model
    if not directory.is_dir():
        raise ConfigError(f"model: the run in {run} has left no model yet; let it run first")
    return directory


def _validate_head(source: Path, found: ModelSpec, task: Task) -> None:
    model, names = KINDS[task.kind].model, output_names(task)
    if found.model != model or found.labels != names:
        its = f"a {found.model}" + (f" for {', '.join(found.labels)}" if found.labels else "")
        wanted = f"a {model}" + (f" for {', '.join(names)}" if names else "")
        raise ConfigError(
            f"keep_head: {source} is {its}, but the data need {wanted}; without keep_head a new head takes its place"
        )


def _random_model(run: FinetuneRun, task: Task, tokenizer: Tokenizer) -> nn.Module:
    logger.warning("%s: every weight starts at random, as from_scratch asks", run.model)
    directory = Path(run.model)
    config = read_model_spec(directory).config if directory.is_dir() else preset(run.model)
    changed = config.replace(vocab_size=tokenizer.vocab_size, **_dropouts(run))
    _validate_lengths(run, changed, tokenizer)
    description = ModelSpec(model=KINDS[task.kind].model, config=changed, labels=output_names(task))
    return build(description, seed=run.seed)


def _dropouts(run: FinetuneRun) -> dict[str, float]:
    return {
        "hidden_dropout_prob": run.hidden_dropout_prob,
        "attention_probs_dropout_prob": run.attention_probs_dropout_prob,
        "classifier_dropout_prob": run.classifier_dropout_prob,
    }


def _validate_lengths(run: FinetuneRun, config: ModelConfig, tokenizer: Tokenizer) -> None:
    if config.vocab_size != tokenizer.vocab_size:
        raise ConfigError(
            f"tokenizer: it has {tokenizer.vocab_size} pieces, but the model's vocabulary has {config.vocab_size}; "
            "give the tokenizer that the model was pretrained with"
        )
    if run.max_length > config.max_position_embeddings:
        raise ConfigError(
            f"max_length: {run.max_length} tokens, but the model reads {config.max_position_embeddings}; give less"
        )
