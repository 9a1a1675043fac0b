"""How a model reads, checks and predicts the rows of a file: one with a task, or a pretrained one that fills masks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from litebert.commands.model_loading.exported_pipeline import ExportedFillMask
from litebert.commands.predict.file_model import FileModel
from litebert.commands.predict.predict_settings import PredictRun
from litebert.commands.row_files.input_file import InputFile
from litebert.commands.row_files.resumable_output import WindowResults
from litebert.errors import ConfigError, DataError
from litebert.inference.fill_mask import FillMask
from litebert.inference.task_pipeline import TaskPipeline, warn_truncated
from litebert.settings import validate_not_given
from litebert.tasks.encoded import warn_empty
from litebert.tasks.file_formats import format_of
from litebert.tasks.masked_text import DEFAULT_TOP_K
from litebert.tasks.readers.columns import Columns, validate_columns_read
from litebert.tasks.readers.tables import Table
from litebert.tasks.readers.text_files import format_ending
from litebert.tasks.results import DecodedPrediction, FilledMasks

PRETRAINED_USES: Final = (
    "it fills masks, and `litebert embed` writes its embeddings; for labels or answers, fine-tune it first "
    "(`litebert finetune`)"
)


@dataclass(frozen=True)
class FilePrediction:
    """The functions with which one model predicts one file."""

    source: InputFile
    result: type[DecodedPrediction]
    """Class of the predictions."""
    predict: Callable[[Sequence[Any]], WindowResults]
    validate: Callable[[Sequence[Any]], None]
    """Raises DataError for examples that the model cannot predict."""
    warn: Callable[[Mapping[str, int], int], None]
    """(counts, rows) → warnings about rows that were read in part."""


def file_prediction(run: PredictRun, model: FileModel) -> FilePrediction:
    """That of the model of `run`; ConfigError for settings that it does not read, and for a model without a head."""
    match model.backend:
        case (FillMask() | ExportedFillMask()) as fill_mask:
            return _filled_masks(run, fill_mask)
        case TaskPipeline() as pipeline:
            return _of_task_type(run, pipeline)
    raise ConfigError(f"model: {run.model} has no head for predictions; `litebert embed` writes its embeddings")


def texts_of(run: PredictRun) -> InputFile:
    """The input as any model reads it: texts with the line they come from."""

    def texts(table: Table, columns: Columns) -> list[tuple[str, int]]:
        return list(zip(table.texts(columns.text_name), [row.line for row in table.rows], strict=True))

    return InputFile(
        path=run.input, read_inputs=texts, columns=run.columns, saved=None, file_format=format_of(run.input)
    )


def warn_counts(path: Path, pipeline: TaskPipeline, counts: Mapping[str, int], rows: int) -> None:
    """Warn of rows that were truncated, or had no text."""
    warn_truncated(path, counts.get("truncated", 0), rows=rows, settings=pipeline.settings)
    warn_empty(path, counts.get("empty", 0), rows=rows)


def _filled_masks(run: PredictRun, fill_mask: FillMask | ExportedFillMask) -> FilePrediction:
    source, top_k = texts_of(run), run.top_k or DEFAULT_TOP_K
    if source.file_format is not None:
        raise ConfigError(f"{run.input}: needs a fine-tuned model, but {run.model} is pretrained: {PRETRAINED_USES}")
    _validate_columns(run, ("text",), fill_mask.task)
    if run.top_k is not None and run.output.suffix != ".jsonl":
        raise ConfigError(f"top_k: {run.output} holds the best candidate only; write a .jsonl file for several")
    return FilePrediction(
        source=source,
        result=FilledMasks,
        predict=lambda examples: WindowResults(fill_mask.results([text for text, _ in examples], top_k=top_k)),
        validate=lambda examples: _validate_masks(fill_mask, examples, run.input),
        warn=lambda counts, rows: None,
    )


def _of_task_type(run: PredictRun, pipeline: TaskPipeline) -> FilePrediction:
    task_type = pipeline.task_type
    source = InputFile.of(run.input, task_type, run.columns, model=Path(run.model))
    _validate_columns(run, () if source.file_format else task_type.reader.input_columns, task_type.name)
    validate_not_given({"top_k": run.top_k}, f"not used for {task_type.name}; leave it out")
    return FilePrediction(
        source=source,
        result=task_type.inference.result,
        predict=lambda examples: WindowResults(*pipeline.results_and_counts(examples)),
        validate=lambda examples: task_type.inference.validate_inputs(examples, pipeline.tokenizer),
        warn=lambda counts, rows: warn_counts(run.input, pipeline, counts, rows),
    )


def _validate_columns(run: PredictRun, read: Sequence[str], task: str) -> None:
    """Raise ConfigError for a named column that is not read of this input."""
    ending = format_ending(run.input)
    validate_columns_read(run.columns, () if ending == ".txt" else read, f"{task} and {ending} files")


def _validate_masks(fill_mask: FillMask | ExportedFillMask, examples: Sequence[tuple[str, int]], path: Path) -> None:
    """Raise DataError for a text whose masks a masked language model cannot fill in."""
    for text, line in examples:
        try:
            fill_mask.encode(text)
        except DataError as error:
            raise DataError(
                f"{path}:{line}: {error}. The model is pretrained, not fine-tuned: {PRETRAINED_USES}"
            ) from None
