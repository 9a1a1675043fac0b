"""Predictions for every row of a file, in its order, or for a split of a benchmark."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from litebert.commands.finetune.data_arguments import NO_COLUMNS, PredictedSplit, predicted_split
from litebert.commands.predict.benchmark_predictions import (
    correct_share,
    submission_text,
    validate_benchmark_model,
    validate_submission_name,
)
from litebert.commands.predict.input_windows import InputFile
from litebert.commands.predict.predict_stream import fingerprint_of, write_predictions
from litebert.commands.result import Result
from litebert.errors import ConfigError, DataError
from litebert.files import write_text
from litebert.inference.fill_mask import DEFAULT_TOP_K, FillMask
from litebert.inference.pipeline import Pipeline
from litebert.inference.predictor import Predictor
from litebert.model.io.resolve import resolve_model_directory
from litebert.settings import InferencePrecision, Settings, validate_not_given
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.read_labelled import types_with_format
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.readers.tables import Table
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold
from litebert.tasks.types.task_type import FileFormat

logger = logging.getLogger(__name__)


class PredictRun(Settings):
    """The settings of a prediction."""

    model: Path
    """Model or run directory; its task decides what is predicted."""
    input: Path
    """A .txt file with one text a line; a .csv, .tsv or .jsonl file; a .json file of SQuAD; .conll columns; with `task`
    the directory of the benchmark."""
    output: Path
    """A .jsonl, .csv or .tsv file, whose suffix is the format; also .conll for .conll; a directory for SQuAD; with
    `task` in the format of its leaderboard."""
    text: str | None = None
    """Column of the text or of the words (default: as in training, or `text`)."""
    text_pair: str | None = None
    """Column of the second text of a pair, of the question of a multiple choice, or of the context of a question."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice (default: those named option1, option2, …)."""
    task: str | None = None
    """A benchmark, whose files are in the directory `input`."""
    split: PredictedSplit | None = None
    """Its split (default: test)."""
    split_file: str | None = None
    """SPLIT=FILE: a file of your own in the layout of the benchmark's, such as test=mine.tsv."""
    threshold: float | None = None
    """Null score above which a question has no answer (default: the one chosen in fine-tuning)."""
    top_k: int | None = Field(default=None, gt=0)
    """Candidates for each [MASK] (default: 5)."""
    precision: InferencePrecision = "auto"
    """Arithmetic of the model: `auto` is the fastest of `fp32`, `bf16` and `fp16`, measured; `int8` is for CPUs."""
    threads: int | None = Field(default=None, gt=0)
    """Threads of torch (default: torch's choice)."""

    @property
    def columns(self) -> Columns:
        """The named columns."""
        return Columns(text=self.text, text_pair=self.text_pair, options=self.options)


@dataclass(frozen=True)
class PredictResult(Result):
    """What was written."""

    output: Path
    task: str
    """Name of the task type, or `fill_mask`."""
    predictions: int
    counts: dict[str, int] = field(default_factory=dict)
    """Sums over all predictions: words and entities, or unanswered questions."""
    threshold: NoAnswerThreshold | None = None
    """When a question has no answer; null for models that always answer."""
    accuracy: float | None = None
    """Of a benchmark split with labels."""

    def to_text(self) -> str:
        """One line."""
        details = [self.task, *(f"{count:,} {name}" for name, count in self.counts.items())]
        if self.threshold:
            details.append(f"no-answer threshold {self.threshold.to_text()}")
        if self.accuracy is not None:
            details.append(f"accuracy {self.accuracy:.4f}")
        return f"{self.output}: {self.predictions:,} predictions written ({', '.join(details)})"


def predict(run: PredictRun) -> PredictResult:
    """Predict every row of `run.input` and write `run.output`."""
    split = predicted_split(run.task, run.split, run.split_file, default="test", instead="INPUT")
    if split is not None:
        return _predict_benchmark(run, split)
    fitting = types_with_format(run.input)
    _validate_output(run, fitting[0].reader.file_format if fitting else None)
    predictor = Predictor.load(run.model, precision=run.precision, threads=run.threads, threshold=run.threshold)
    source = _input_file(run, predictor)
    if source.file_format is not None and source.file_format.write_directory is not None:
        return _predict_directory(run, predictor, source)
    model = resolve_model_directory(run.model)
    top_k = run.top_k or DEFAULT_TOP_K
    settings = run.model_dump(exclude={"model", "input", "output"})
    written = write_predictions(
        run.output,
        source.output_format(run.output),
        source.windows,
        lambda examples: _results(predictor, examples, run.input, top_k),
        fingerprint=fingerprint_of([run.input], [model], {**settings, "output": run.output.name}),
    )
    logger.info("%s: %d predictions written", run.output, written.rows)
    return PredictResult(run.output, predictor.task, written.rows, written.counts, predictor.threshold)


def _input_file(run: PredictRun, predictor: Predictor) -> InputFile:
    """The input as the model reads it; ConfigError for settings that do not apply to it."""
    if isinstance(predictor.backend, FillMask):
        _validate_unused(run, ("text", "top_k"), predictor.task)
        return InputFile(path=run.input, read_inputs=_texts, columns=run.columns, saved=None)
    if not isinstance(predictor.backend, Pipeline):
        raise ConfigError(f"model: {run.model} has no head for predictions; `litebert embed` writes its embeddings")
    reader = predictor.backend.task_type.reader
    file_format = reader.file_format
    if file_format is None or run.input.suffix not in file_format.suffixes:
        file_format = None
    _validate_unused(run, () if file_format else reader.input_columns, predictor.task)
    if types_with_format(run.input) and file_format is None:
        raise ConfigError(f"input: a model for {predictor.task} cannot read {run.input.suffix} files; give a table")
    return InputFile(
        path=run.input,
        read_inputs=reader.read_inputs,
        columns=run.columns,
        saved=SavedTask.stored(resolve_model_directory(run.model)),
        file_format=file_format,
    )


def _validate_unused(run: PredictRun, used: Sequence[str], task: str) -> None:
    given = {name: getattr(run, name) for name in ("text", "text_pair", "options", "top_k") if name not in used}
    validate_not_given(given, f"not used for {task} and {run.input.suffix} files; remove these options")


def _validate_output(run: PredictRun, file_format: FileFormat | None) -> None:
    """Raise ConfigError for an output that cannot be written, before the model is loaded."""
    if file_format is not None and file_format.write_directory is not None:
        if run.output.suffix or (run.output.exists() and not run.output.is_dir()):
            raise ConfigError(
                f"output: {run.output} is a file, but predictions for {run.input.suffix} files are several files; give "
                "a directory"
            )
        return
    nothing = InputFile(path=run.input, read_inputs=_texts, columns=run.columns, saved=None, file_format=file_format)
    nothing.output_format(run.output)


def _predict_directory(run: PredictRun, predictor: Predictor, source: InputFile) -> PredictResult:
    examples = [example for window in source.windows() for example in window.examples]
    results = predictor.predict(examples)
    assert source.file_format is not None
    assert source.file_format.write_directory is not None
    source.file_format.write_directory(run.output, examples, results)
    counts = Counter[str]()
    for result in results:
        counts.update(result.counts)
    return PredictResult(run.output, predictor.task, len(results), dict(counts), predictor.threshold)


def _predict_benchmark(run: PredictRun, split: BenchmarkSplit) -> PredictResult:
    """Write the predictions for a split of a benchmark in the format of its leaderboard."""
    given = {name: getattr(run, name) for name in ("text", "text_pair", "options", "top_k")}
    validate_not_given(given, NO_COLUMNS.format(instead="INPUT"))
    if benchmark_task(split.task).format == "squad":
        unset = {"task": None, "split": None, "split_file": None}
        return predict(run.model_copy(update={**unset, "input": split.path(run.input)}))
    validate_submission_name(run.output, split.task)
    data = split.read(run.input)
    predictor = Predictor.load(run.model, precision=run.precision, threads=run.threads, threshold=run.threshold)
    assert isinstance(predictor.backend, Pipeline)
    validate_benchmark_model(split.task, predictor.task, predictor.labels, model=run.model)
    results = predictor.predict(data.examples)
    write_text(run.output, submission_text(split.task, data, results))
    accuracy = correct_share(data, results)
    return PredictResult(run.output, predictor.task, len(results), accuracy=accuracy)


def _texts(table: Table, columns: Columns) -> list[Any]:
    """Texts with the line they come from."""
    return list(zip(table.texts(columns.names().text), [row.line for row in table.rows], strict=True))


def _results(predictor: Predictor, examples: Sequence[Any], path: Path, top_k: int) -> Sequence[Any]:
    if not isinstance(predictor.backend, FillMask):
        return predictor.predict(examples)
    results = []
    for text, line in examples:
        try:
            results += predictor.backend.results([text], top_k=top_k)
        except DataError as error:
            raise DataError(f"{path}:{line}: {error}") from None
    return results
