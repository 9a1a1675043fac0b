"""What a fine-tuning run starts from: data, tokenizer, model and the parameters to train."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from litebert.commands.finetune.finetune_settings import (
    BenchmarkFiles,
    DevSplit,
    FinetuneRun,
    LabelledFiles,
)
from litebert.commands.finetune.model_limits import validate_fits_model
from litebert.errors import ConfigError, DataError
from litebert.files import write_json, write_text
from litebert.hub_datasets import is_dataset_name
from litebert.loss_sums import LossSums
from litebert.model.config import ModelConfig
from litebert.model.io.hub import is_released, model_directory
from litebert.model.io.model_directory import build, load_model
from litebert.model.io.model_spec import LABELLED, ModelSpec, read_model_spec
from litebert.model.layers.lora import attach
from litebert.model.param_groups import count_parameters, freeze, layer_depths
from litebert.model.presets import preset, preset_named
from litebert.tasks.benchmarks.benchmark_files import read_benchmark
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.labelled_data import LabelledData, Task
from litebert.tasks.output_formats import SUFFIXES, TableFormat
from litebert.tasks.read_labelled import format_of, read_labelled, rows_of, task_for, task_of_benchmark
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.readers.splits import train_dev_split, warn_small_dataset, warn_train_dev_leakage
from litebert.tasks.readers.text_files import format_ending
from litebert.tasks.types.registry import get_task_type
from litebert.tasks.types.task_type import Loss, ReadOptions, ScoreScale
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

ROWS: Final = "rows.json"


@dataclass(frozen=True)
class RunData:
    """The examples of a run; both parts have the same labels."""

    task: Task
    train: LabelledData
    dev: LabelledData
    selection: str
    """Where the development examples come from, in words."""
    is_split: bool
    """Whether the development examples were held out from the training file."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """That of the rows of each part."""
        return {"train": self.train.fingerprint, "dev": self.dev.fingerprint}


def read_data(run: FinetuneRun) -> RunData:
    """The task and its examples, with warnings about them."""
    data = read_examples(run)
    warn_small_dataset(data.train, batch_size=run.batch_size)
    warn_train_dev_leakage(data.train, data.dev)
    return data


def read_examples(run: FinetuneRun) -> RunData:
    """The task and its examples."""
    data = run.data
    if isinstance(data, LabelledFiles):
        train, dev = _read_files(data, run.metrics)
        task = task_for(train, data.columns, run.metrics)
    else:
        train = read_benchmark(data.task, data.directory, "train", files=data.split_files)
        dev = read_benchmark(data.task, data.directory, data.dev, files=data.split_files)
        if not dev.has_labels:
            raise DataError(f"{dev.path}: has no labels, so it selects no model; choose another split (data.dev)")
        task = task_of_benchmark(benchmark_task(data.task), train, run.metrics)
    is_split = isinstance(data, LabelledFiles) and isinstance(data.dev, DevSplit)
    return RunData(task, train, dev, _selection(data), is_split)


def _selection(data: LabelledFiles | BenchmarkFiles) -> str:
    if isinstance(data, BenchmarkFiles):
        return f"the split {data.dev} of {data.task}"
    if isinstance(data.dev, DevSplit):
        return f"{data.dev.fraction:.0%} of the rows of {data.train.name}, held out with seed {data.dev.seed}"
    return data.dev.name


def _read_files(files: LabelledFiles, metrics: tuple[str, ...]) -> tuple[LabelledData, LabelledData]:
    options = ReadOptions(
        task_type=files.task_type, invalid_answers=files.invalid_answers, unlabelled_rows=files.unlabelled_rows
    )
    in_training = replace(options, soft_labels=True)
    train = read_labelled(files.train, files.columns, options=in_training, default_pair=True)
    if isinstance(files.dev, DevSplit):
        strata = get_task_type(train.task_type).strata
        return train_dev_split(train, files.dev.fraction, seed=files.dev.seed, strata=strata(train) if strata else None)
    like_train = replace(options, task_type=train.task_type, labels=train.labels)
    # As a model of the training file reads it, so that both have pairs, or neither.
    saves_columns = get_task_type(train.task_type).reader.saves_columns
    saved = SavedTask.of(task_for(train, files.columns, metrics), with_columns=saves_columns)
    return train, read_labelled(files.dev, files.columns, saved=saved, options=like_train)


def class_weights(run: FinetuneRun, train: LabelledData) -> np.ndarray | None:
    """The weights of the labels in the loss; None if all are equal."""
    if run.class_weights is None:
        return None
    weights = get_task_type(train.task_type).loss.class_weights
    if weights is None:
        raise ConfigError(f"class_weights: {train.task_type} has no weights for labels; set it to null")
    return weights(run.class_weights, train)


def score_scale(run: FinetuneRun, train: LabelledData) -> ScoreScale | None:
    """Mean and standard deviation by which the head is standardized; None: it is not.

    DataError where all scores are equal, in any case.
    """
    measure = get_task_type(train.task_type).loss.score_scale
    scale = measure(train) if measure else None
    return scale if run.standardize_scores else None


def loss_weights(run: FinetuneRun, train: LabelledData) -> np.ndarray | None:
    """Weights of the loss: of each label, or one that all scores are multiplied by; None: 1."""
    weights, scale = class_weights(run, train), score_scale(run, train)
    return weights if scale is None else np.array([1 / scale.std])


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


def write_dev_rows(directory: Path, train: LabelledData, dev: LabelledData) -> None:
    """Write `dev.csv` (.tsv, .jsonl, …), which `evaluate` reads, and `rows.json`.

    The file is `dev.jsonl` for Parquet, for a data set of the hub, and for a .tsv file whose rows .tsv cannot hold.
    `rows.json` has the line of each training and development row in the training file; its id where rows have no line.
    """
    suffix, text = _dev_text(dev)
    write_text(directory / f"dev{suffix}", text)
    parts = {"train": _row_names(train), "dev": _row_names(dev)}
    write_json(directory / ROWS, {"file": str(dev.path), **parts})


def _dev_text(dev: LabelledData) -> tuple[str, str]:
    """The ending and the text of the file."""
    source = dev.path
    if file_format := format_of(source, dev.task_type):
        return format_ending(source), file_format.part(source, dev)
    rows = [row.values for row in rows_of(dev)]
    # A carriage return inside a field is read, but other programs take it for the end of the line.
    has_returns = any("\r" in value for row in rows for value in row.values() if isinstance(value, str))
    ending = format_ending(source)
    is_table_of_text = ending in SUFFIXES and not is_dataset_name(source) and not (ending == ".tsv" and has_returns)
    suffix = ending if is_table_of_text else ".jsonl"
    return suffix, TableFormat(Path(f"dev{suffix}"), like=source).lines(rows)


def _row_names(data: LabelledData) -> list[Any]:
    return list(data.lines or [example.id for example in data.examples])


class TaskObjective:
    """The loss of a task type as `training`'s Objective."""

    def __init__(self, loss: Loss, weights: np.ndarray | None = None) -> None:
        self._loss = loss
        self._weights = None if weights is None else torch.tensor(weights, dtype=torch.float32)

    def counts(self, batch: LabelledBatch) -> dict[str, int]:
        """How many labels each loss sums over."""
        return self._loss.counts(batch)

    def __call__(self, model: nn.Module, batch: LabelledBatch) -> LossSums:
        """Summed losses and numbers of correct predictions of one microbatch."""
        return self._loss.sums(model, batch, self._weights)
