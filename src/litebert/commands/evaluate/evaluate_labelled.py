"""The evaluation of a fine-tuned model on a labelled file or on a benchmark."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from litebert.commands.benchmark_predictions import validate_benchmark_model
from litebert.commands.data_arguments import FileExamples
from litebert.commands.evaluate.evaluate_settings import DevelopmentSplits
from litebert.commands.evaluate.report_page import report_page
from litebert.commands.result import Result
from litebert.errors import DataError
from litebert.files import write_text
from litebert.hub_datasets import is_dataset_name
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.task_pipeline import TaskPipeline
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit, available_splits, read_benchmark
from litebert.tasks.benchmarks.benchmarks import Decision, Split, benchmark_task
from litebert.tasks.benchmarks.candidate_ranking import independent_decisions, predict_ranked
from litebert.tasks.file_formats import validate_columns_apply
from litebert.tasks.labelled_data import LabelledData, Task, UnlabelledRows
from litebert.tasks.metrics.evaluation import Evaluation
from litebert.tasks.metrics.metrics import OF_SECOND_LABEL
from litebert.tasks.task_inference import Prediction
from litebert.tasks.task_of_data import task_for, task_of_benchmark

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BenchmarkEvaluation(Result):
    """The scores on the development splits of a benchmark."""

    splits: dict[str, Evaluation]

    def to_text(self) -> str:
        """The scores of each split, with its slices."""
        return "\n".join(f"{name}: {evaluation.to_text()}" for name, evaluation in self.splits.items())

    def to_report(self) -> str:
        """The scores of each split, with its slices and labels."""
        return "\n".join(f"{name}: {evaluation.to_report()}" for name, evaluation in self.splits.items())


@dataclass(frozen=True)
class LabelledExamples:
    """A labelled file as a fine-tuned model reads it, to be scored in one precision or several."""

    model: Path
    """Where the model was loaded from."""
    examples: EvaluationSet

    @classmethod
    def read(
        cls,
        model: Path,
        file: FileExamples,
        *,
        pipeline: TaskPipeline,
        metrics: Sequence[str] = (),
        unlabelled_rows: UnlabelledRows = "error",
    ) -> Self:
        """The rows of a file; `unlabelled_rows` says what to do with those without a label."""
        data = pipeline.labelled_data(file.path, file.columns, unlabelled_rows=unlabelled_rows)
        return cls(model, _prepared(data, task_for(data, file.columns, metrics), pipeline))

    def score(self, pipeline: TaskPipeline, *, report: Path | None = None) -> Evaluation:
        """The scores of the model; `report` is an HTML file to write."""
        predictions = pipeline.predict_encoded(self.examples.encoded)
        return _score(pipeline, self.model, self.examples, predictions, report)


@dataclass(frozen=True)
class BenchmarkExamples:
    """The development splits of a benchmark as a fine-tuned model reads them."""

    model: Path
    """Where the model was loaded from."""
    source: DevelopmentSplits
    splits: Mapping[Split, EvaluationSet]
    decision: Decision = "classify"
    """With `rank` the candidates of a question in all files of the benchmark are ranked."""

    @classmethod
    def read(
        cls,
        model: Path,
        source: DevelopmentSplits,
        *,
        pipeline: TaskPipeline,
        metrics: Sequence[str] = (),
        decision: Decision = "classify",
    ) -> Self:
        """The splits of `source`; DataError for one without labels, ConfigError for a model of another task."""
        name, benchmark = source.task, benchmark_task(source.task)
        ordered = not set(OF_SECOND_LABEL).isdisjoint(metrics or benchmark.metrics)
        required = {"ordered": ordered, "numbers": True}
        validate_benchmark_model(name, pipeline.task_type.name, pipeline.labels, model=model, **required)
        labels = pipeline.labels if benchmark.labels else None
        splits = {}
        for split in benchmark_splits(source):
            data = read_benchmark(name, source.directory, split, files=source.files, labels=labels)
            if not data.has_labels:
                raise DataError(f"{data.path}: has no labels; give a split with labels, or use `predict`")
            splits[split] = _prepared(data, task_of_benchmark(benchmark, data, metrics), pipeline)
        return cls(model, source, splits, decision)

    def score(self, pipeline: TaskPipeline, *, report: Path | None = None) -> BenchmarkEvaluation:
        """The scores of the model; `report` is an HTML file to write, of several splits one for each."""
        scores: dict[str, Evaluation] = {}
        for split, examples in self.splits.items():
            page = report and report.with_stem(f"{report.stem}-{split}" if len(self.splits) > 1 else report.stem)
            predictions = self._predictions(pipeline, split)
            scores[split] = _score(pipeline, self.model, examples, predictions, page, decision=self.decision)
        return BenchmarkEvaluation(scores)

    def _predictions(self, pipeline: TaskPipeline, split: Split) -> list[Prediction]:
        examples = self.splits[split]
        if self.decision == "classify":
            return pipeline.predict_encoded(examples.encoded)
        options = {"labels": pipeline.labels, "predict": pipeline.predict}
        place = BenchmarkSplit(task=self.source.task, split=split, file=self.source.files.get(split))
        return predict_ranked(place, self.source.directory, examples.data.examples, **options)


def _prepared(data: LabelledData, task: Task, pipeline: TaskPipeline) -> EvaluationSet:
    examples = EvaluationSet.prepare(data, task, pipeline)
    examples.warn_truncated(pipeline.settings)
    return examples


def benchmark_splits(source: DevelopmentSplits) -> tuple[Split, ...]:
    """Those of its files, or the development splits in its directory; DataError if there is none."""
    if splits := tuple(source.files) or available_splits(source.task, source.directory, start="dev"):
        return splits
    benchmark = benchmark_task(source.task)
    raise DataError(
        f"{source.directory}: no development split of {benchmark.title}; give the directory with "
        f"{benchmark.folders[0]!r}"
    )


def validate_file_exists(file: FileExamples) -> None:
    """Raise DataError without the file, and ConfigError for columns that its format does not have."""
    validate_columns_apply(file.columns, file.path)
    if not (file.path.exists() or is_dataset_name(file.path)):
        raise DataError(f"{file.path}: no such file; check the path")


def validate_splits_exist(source: DevelopmentSplits) -> None:
    """Raise DataError without the files of the splits."""
    for split in benchmark_splits(source):
        BenchmarkSplit(task=source.task, split=split, file=source.files.get(split)).path(source.directory)


def _score(
    pipeline: TaskPipeline,
    model: Path,
    examples: EvaluationSet,
    predictions: list[Prediction],
    report: Path | None,
    *,
    decision: Decision = "classify",
) -> Evaluation:
    scored = examples.score_predictions(pipeline, predictions)
    if decision == "rank":
        decisions = independent_decisions(examples.data.examples)
        scored = replace(scored, evaluation=scored.evaluation.with_decisions(decisions))
    if report is not None:
        errors = examples.errors(pipeline, predictions, scored)
        write_text(report, report_page(f"{model} on {examples.data.path}", scored.evaluation, errors))
        logger.info("%s: written", report)
    return scored.evaluation
