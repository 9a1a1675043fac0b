"""Predictions for every row of a file, in its order, or for a split of a benchmark."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from litebert.commands.benchmark_predictions import (
    correct_share,
    submission_text,
    validate_benchmark_model,
    validate_submission_name,
)
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.many_files.file_arguments import is_pattern
from litebert.commands.many_files.file_workers import (
    FileJob,
    FilesWritten,
    file_tasks,
    with_kept_precision,
    write_files,
)
from litebert.commands.model_loading.loaded_pipeline import device_of
from litebert.commands.predict.file_model import FileModel
from litebert.commands.predict.file_prediction import file_prediction, texts_of, warn_counts
from litebert.commands.predict.predict_settings import PredictRun
from litebert.commands.result import Result
from litebert.commands.row_files.resumable_output import WindowResults, output_fingerprint, with_recorded_precision
from litebert.errors import ConfigError, DataError
from litebert.files import write_text
from litebert.inference.task_pipeline import TaskPipeline
from litebert.model.io.hub import model_directory
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.benchmarks.candidate_ranking import predict_ranked
from litebert.tasks.file_formats import format_of
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.readers.text_files import format_ending, plain_name
from litebert.tasks.types.extractive_qa.question_settings import NoAnswerThreshold


@dataclass(frozen=True)
class PredictResult(Result):
    """What was written."""

    output: Path
    task: str
    """Name of the task type, or `fill_mask`."""
    predictions: int
    counts: dict[str, int] = field(default_factory=dict)
    """Sums over all predictions: words and entities, unanswered questions, truncated and empty rows."""
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


def predict(run: PredictRun) -> PredictResult | FilesWritten:
    """Predict every row of `run.input`, or of the files that match it, and write `run.output`."""
    model = model_directory(run.model)
    run = run.replace(model=str(model), device=device_of(model, run))
    if is_pattern(run.input):
        return _predict_files(run)
    if run.benchmark_split is not None:
        return _predict_benchmark(run, run.benchmark_split)
    return _predict_one(run)


def _predict_one(run: PredictRun) -> PredictResult:
    if not run.input.is_file():
        found = "is a directory; give a file, or the benchmark that it holds (--task)" if run.input.is_dir() else ""
        raise DataError(f"{run.input}: {found or 'no such file; check the path'}")
    texts_of(run).validate_output(run.output)  # before the model is loaded, which takes longer
    run = with_recorded_precision(run, run.output, _partial_fingerprint)
    return _predict_file(run, FileModel.load(run))


def _predict_files(run: PredictRun) -> FilesWritten:
    tasks = file_tasks(run.input, run.output, lambda path: _output_name(path, run.files.output_suffix))
    for task in tasks:
        texts_of(run.model_copy(update={"input": task.source})).validate_output(task.output)
    job = FileJob(run=with_kept_precision(run), load=FileModel.load, work=_predict_file, fingerprint=_fingerprint)
    return write_files(tasks, job)


def _output_name(path: Path, suffix: str | None) -> str:
    """The name of the output of one of several files: that of the file, with the ending of a format that fits."""
    stem, ending = plain_name(path).stem, format_ending(path)
    if (file_format := format_of(path)) and file_format.write_directory:
        return stem
    return stem + (suffix or {".txt": ".jsonl", ".parquet": ".jsonl"}.get(ending, ending))


def _settings(run: PredictRun) -> dict[str, Any]:
    """What the predictions depend on besides model and input."""
    return run.model_dump(exclude={"model", "input", "output", "files"})


def _fingerprint(run: PredictRun) -> str:
    """Of a complete output, which stays when the same command runs on another device."""
    settings = {name: value for name, value in _settings(run).items() if name != "device"}
    return fingerprint_of(settings, inputs=[run.input], models=[Path(run.model)])


def _partial_fingerprint(run: PredictRun) -> str:
    """Of predictions so far, which another device would continue with other numbers."""
    return output_fingerprint(run.input, run.output, [Path(run.model)], _settings(run))


def _predict_file(run: PredictRun, model: FileModel) -> PredictResult:
    rows = file_prediction(run, model)
    written = rows.source.predict_into(
        run.output,
        rows.predict,
        result=rows.result,
        models=[Path(run.model)],
        settings=_settings(run.model_copy(update={"precision": model.precision})),
        precisions=[model.precision],
        validate=rows.validate,
    )
    rows.warn(written.counts, written.rows)
    return PredictResult(run.output, model.task, written.rows, written.counts, model.threshold)


def _predict_benchmark(run: PredictRun, split: BenchmarkSplit) -> PredictResult:
    """Write the predictions for a split of a benchmark in the format of its leaderboard."""
    if benchmark_task(split.task).format == "squad":
        unset = {"task": None, "split": None, "split_file": None}
        return _predict_one(run.model_copy(update={**unset, "input": split.path(run.input)}))
    validate_submission_name(run.output, split.task)
    data = split.read(run.input)
    pipeline = FileModel.load(run).backend
    if not isinstance(pipeline, TaskPipeline):
        raise ConfigError(f"{run.model}: has no head for the task {split.task}; fine-tune the model on it first")
    validate_benchmark_model(split.task, pipeline.task, pipeline.labels, model=Path(run.model))
    if run.decision == "rank":
        predicted = WindowResults(_ranked(run, split, pipeline, data))
    else:
        predicted = WindowResults(*pipeline.results_and_counts(data.examples))
    write_text(run.output, submission_text(split.task, data, predicted.results))
    accuracy, rows, counts = correct_share(data, predicted.results), len(predicted.results), dict(predicted.counts)
    warn_counts(run.input, pipeline, counts, rows)
    return PredictResult(run.output, pipeline.task, rows, counts, accuracy=accuracy)


def _ranked(run: PredictRun, split: BenchmarkSplit, pipeline: TaskPipeline, data: LabelledData) -> list[Any]:
    ranked = predict_ranked(split, run.input, data.examples, labels=pipeline.labels, predict=pipeline.predict)
    return pipeline.decode(ranked, data.examples)
