"""Use of trained models from Python: scores, predictions and embeddings."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from litebert.api.api_results import EvaluationResult, Predictions
from litebert.api.data_sources import Data, DataSource, plain
from litebert.api.python_messages import in_terms_of_python
from litebert.api.training_runs import Metric
from litebert.device import usable_device
from litebert.errors import ConfigError, suggestion
from litebert.files import path_text
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.method_inputs import validate_single_texts, validate_texts
from litebert.inference.pipeline import Pipeline
from litebert.inference.predictor import Predictor
from litebert.inference.task_pipeline import warn_truncated
from litebert.model.io.hub import model_directory
from litebert.settings import InferencePrecision, validate_not_given
from litebert.tasks.encoded import warn_empty
from litebert.tasks.file_formats import format_of
from litebert.tasks.labelled_data import LabelledData, UnlabelledRows
from litebert.tasks.metrics.metrics import metric_names
from litebert.tasks.prediction_files.prediction_rows import is_prediction_file
from litebert.tasks.readers.columns import Columns, resolve_columns, validate_columns_read
from litebert.tasks.readers.tables import Table
from litebert.tasks.results import DecodedPrediction
from litebert.tasks.task_of_data import task_for

Model = str | os.PathLike[str] | Predictor
"""A model or run directory, a name on the hub, or a loaded `Predictor`."""


def evaluate(
    model: str | os.PathLike[str],
    data: Data,
    *,
    metrics: Metric | Sequence[Metric] = (),
    unlabelled_rows: UnlabelledRows = "error",
    device: str | torch.device = "auto",
    **columns: Any,
) -> EvaluationResult:
    """The scores of a fine-tuned model on labelled data, with its predictions beside the rows that were read.

    Args:
        model: a model or run directory, what `finetune` returned, or a name on the hub.
        data: labelled data (see `Data`).
        metrics: names of metrics or functions, as of `finetune`, or one; empty: those of the task type.
        unlabelled_rows: what to do with a row whose label is empty: `error`, or `skip` and count it.
        device: where the model runs: `auto` (a CUDA device if there is one), `cpu`, `cuda` or `cuda:1`, or a
            `torch.device`.
        columns: fields of `Columns`, such as `text="review"`; by default those of the training data.
    """
    if isinstance(model, Predictor):
        raise ConfigError("model: expected a directory or a name on the hub, found a Predictor; its scores are in fp32")
    source_of_model = _path_or_name(model)
    if is_prediction_file(source_of_model):
        raise ConfigError(f"model: {model} is a prediction file; score it with `litebert evaluate {model} --data FILE`")
    if unlabelled_rows not in get_args(UnlabelledRows):
        raise ConfigError(f"unlabelled_rows: {unlabelled_rows!r}, expected error or skip")
    names = metric_names(metrics)
    pipeline = Pipeline.load(model_directory(source_of_model), device=usable_device(device))
    source = DataSource.of(data, "data")
    named = _columns(source, columns)
    place = source.path or Path(source.name)
    table = None if format_of(place) else source.to_table()
    with in_terms_of_python(_places(source)):
        labelled = pipeline.labelled_data(place, named, unlabelled_rows=unlabelled_rows, table=table)
    task = task_for(labelled, named, names)
    examples = EvaluationSet.prepare(labelled, task, pipeline)
    examples.warn_truncated(pipeline.settings)
    predictions = pipeline.predict_encoded(examples.encoded)
    scored = examples.score_predictions(pipeline, predictions)
    scoring = replace(pipeline, settings=pipeline.settings.with_metrics(scored.evaluation.metrics))
    results = scoring.decode(predictions, labelled.examples)
    return EvaluationResult(scored.evaluation, Predictions(tuple(results), _rows(labelled, table, task.label)))


def predict(model: Model, data: Data, *, device: str | torch.device | None = None, **columns: Any) -> Predictions:
    """The prediction of a fine-tuned model, or of a masked language model, for each row of `data`.

    Args:
        model: a model or run directory, a name on the hub, or a `Predictor`, which is not loaded again.
        data: rows (see `Data`), which need no labels; `litebert predict` reads files of any size.
        device: where the model runs, a name or a `torch.device` as of `Predictor`, by default a CUDA device if there
            is one; a `Predictor` has its own.
        columns: fields of `Columns`, such as `text="review"`; by default those of the training data.
    """
    predictor = _predictor(model, device=device)
    source = DataSource.of(data, "data")
    pipeline = predictor.backend
    if source.path is not None and format_of(source.path):
        raise ConfigError(f"predict: {source.path} is no table; predict it with `litebert predict`")
    table, named = source.to_table(), _columns(source, columns)
    with in_terms_of_python(_places(source)):
        if isinstance(pipeline, Pipeline):
            results = _predict_rows(pipeline, predictor.task, table, named)
        else:
            validate_columns_read(named, ("text",), predictor.task)
            results = predictor.predict(table.texts(named.text_name))
    return Predictions(tuple(results), tuple(row.values for row in table.rows))


def _predict_rows(pipeline: Pipeline, task: str, table: Table, named: Columns) -> Sequence[DecodedPrediction]:
    validate_columns_read(named, pipeline.task_type.reader.input_columns, task)
    inputs = pipeline.task_type.reader.read_inputs(table, resolve_columns(named, pipeline.saved_task, table))
    results, counts = pipeline.results_and_counts(inputs)
    warn_truncated(table.path, counts["truncated"], rows=len(inputs), settings=pipeline.settings)
    warn_empty(table.path, counts["empty"], rows=len(inputs))
    return results


def embed(
    model: Model,
    texts: Iterable[str],
    *,
    precision: InferencePrecision | None = None,
    device: str | torch.device | None = None,
    **settings: Any,
) -> np.ndarray:
    """Float32 [N, dimensions]: the vector of each text, of length 1.

    Args:
        model: any model or run directory, a name on the hub, or a `Predictor`.
        texts: N texts.
        precision: arithmetic of the model, as of `litebert embed`, by default fp32; a `Predictor` has its own.
        device: where the model runs, a name or a `torch.device` as of `Predictor`, by default a CUDA device if there
            is one; a `Predictor` has its own.
        settings: fields of `EmbeddingSettings`, such as `pooling="cls"` or `dimensions=64`.
    """
    if not isinstance(model, Predictor):
        precision = precision or "fp32"
    embedder = _predictor(model, precision=precision, device=device).embedder(EmbeddingSettings(**settings))
    given = ["" if plain(each) is None else each for each in validate_texts(texts)]
    vectors, counts = embedder.vectors_and_counts(validate_single_texts(given))
    embedder.warn("texts", counts, texts=len(vectors))
    return vectors


def _predictor(model: Model, **options: Any) -> Predictor:
    """`model`, loaded with those options that are not None; ConfigError for options of a loaded one."""
    given = {name: value for name, value in options.items() if value is not None}
    if not isinstance(model, Predictor):
        return Predictor.load(_path_or_name(model), **given)
    validate_not_given(given, "a Predictor has its own; give it to Predictor.load")
    return model


def _path_or_name(model: str | os.PathLike[str]) -> str | Path:
    """A path stays one, which is no name on the hub; the path of what a training function returned is a text."""
    return model if isinstance(model, Path) else path_text(model)


def _places(source: DataSource) -> dict[Path, str]:
    """What messages call rows in memory: the name of their table."""
    return {} if source.path else {Path(source.name): source.name}


def _columns(source: DataSource, named: Mapping[str, Any]) -> Columns:
    known = [field.name for field in fields(Columns)]
    if unknown := [name for name in named if name not in known]:
        raise ConfigError(f"{unknown[0]}: no such column; {suggestion(unknown[0], known)}")
    columns = Columns(**named)
    options = (columns.options,) if isinstance(columns.options, str) else tuple(columns.options)
    return replace(columns, options=options, text_pair=columns.text_pair or source.text_pair)


def _rows(data: LabelledData, table: Table | None, label: str) -> tuple[Mapping[str, Any], ...]:
    """The rows of `table` that the examples are from; of a file without named columns, what the examples have.

    Labels of classes are the names that predictions have: texts, also where the column holds numbers.
    """
    if table is None:
        file_format = format_of(data.path, data.task_type)
        assert file_format is not None, "other files are tables"
        return tuple(file_format.row(example, data.labels or ()) for example in data.examples)
    assert data.lines is not None, "tables have lines"
    by_line = {row.line: row.values for row in table.rows}
    pairs = zip((by_line[line] for line in data.lines), data.class_names, strict=True)
    return tuple({**row, label: name} if name is not None else row for row, name in pairs)
