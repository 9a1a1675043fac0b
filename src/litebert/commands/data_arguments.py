"""The labelled data of a command line: files of your own, or a benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import model_validator

from litebert.errors import ConfigError, suggestion
from litebert.settings import Settings, validate_not_given
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task
from litebert.tasks.labelled_data import UnlabelledRows
from litebert.tasks.readers.columns import Columns

PredictedSplit = Literal["dev", "dev-mismatched", "test", "test-mismatched", "diagnostic"]
NO_COLUMNS: Final = "a benchmark defines its own; leave them out, or give its file as {instead}, without --task"
ONLY_BENCHMARKS: Final = "only with a benchmark; give --task, or the file itself as"


class ColumnArguments(Settings):
    """Columns of a file of your own; a fine-tuned model remembers those of its training."""

    text: str | None = None
    """Column of the text (default: as in training, or `text`)."""
    text_pair: str | None = None
    """Column of the second text of a pair, or of the question of a multiple choice (default: as in training; there
    `text_pair`, if such a column has texts)."""
    label: str | None = None
    """Column of the label, labels, score or correct option (default: as in training, or `label`)."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice (default: those named option1, option2, …)."""

    def to_columns(self) -> Columns:
        """The named columns."""
        return Columns(**self.model_dump())


class SlicedColumnArguments(ColumnArguments):
    """The columns where scores of parts of the rows are shown too."""

    slice: str | None = None
    """Column by whose values the rows are also scored separately."""


@dataclass(frozen=True, slots=True)
class FileExamples:
    """A labelled file of your own."""

    path: Path
    columns: Columns
    """The named columns."""


@dataclass(frozen=True, slots=True)
class SplitExamples:
    """A split of a benchmark."""

    split: BenchmarkSplit
    directory: Path
    """Where its files are."""


class ExampleArguments(Settings):
    """The examples that several fine-tuned models predict: a file of your own (--data), or a split of a benchmark."""

    data: Path | None = None
    """CSV, TSV, JSON lines, Parquet, CoNLL, CoNLL-U or SQuAD file; without labels it can only be predicted."""
    task: str | None = None
    """A benchmark, such as cola or race."""
    task_dir: Path | None = None
    """Directory with the files of the benchmark."""
    split: PredictedSplit | None = None
    """Its split (default: dev)."""
    split_file: str | None = None
    """SPLIT=FILE: a file of your own in the layout of the benchmark's, such as test=mine.tsv."""
    columns: ColumnArguments = ColumnArguments()
    unlabelled_rows: UnlabelledRows = "error"
    """With --data: what to do with a row of a table whose label is empty: `error`, or `skip` and count it."""

    @property
    def source(self) -> FileExamples | SplitExamples:
        """Where the examples are; ConfigError unless exactly one place is given."""
        split = predicted_split(self.task, self.split, self.split_file, default="dev", instead="--data")
        match self.data, split, self.task_dir:
            case Path() as path, None, None:
                return FileExamples(path, self.columns.to_columns())
            case None, BenchmarkSplit() as split, Path() as directory:
                return SplitExamples(split, directory)
        raise ConfigError("give either --data (a file), or --task and --task-dir (a benchmark)")

    @model_validator(mode="after")
    def _check_examples(self) -> Self:
        if isinstance(self.source, SplitExamples):
            validate_not_given(self.columns.model_dump(), NO_COLUMNS.format(instead="--data"))
            validate_labels_of_benchmark(self.unlabelled_rows)
        return self


class DataArguments(Settings):
    """Training data: a benchmark (--task, --task-dir), or files of your own (--train, --dev)."""

    task: str | None = None
    """A benchmark, if the recipe has another name."""
    task_dir: Path | None = None
    """Directory with the files of the benchmark."""
    train: Path | None = None
    """Labelled file of your own: .csv, .tsv, .jsonl, .parquet, .conll, .conllu, or .json of SQuAD."""
    dev: Path | None = None
    """File that selects the best model (default: a tenth of the training rows is held out, always the same)."""
    split_file: tuple[str, ...] = ()
    """SPLIT=FILE …: files of your own in the layout of the benchmark's, such as train=mine.tsv dev=held.tsv."""
    task_type: str | None = None
    """Task type: classification, regression, multi_label, multiple_choice, pronoun_resolution, token_classification,
    extractive_qa or extractive_qa_no_answer (default: guessed from the file)."""
    columns: SlicedColumnArguments = SlicedColumnArguments()

    def to_setting(self, recipe: str) -> dict[str, Any]:
        """The setting `data` of a run; a benchmark's recipe implies its task."""
        task = recipe if self.task is None and self.train is None and recipe in BENCHMARKS else self.task
        if task is None and self.train is None and self.task_dir is not None and recipe != "default":
            benchmark = recipe.removesuffix("-small")
            advice = f"add --task {benchmark}" if benchmark in BENCHMARKS else suggestion(recipe, BENCHMARKS)
            raise ConfigError(f"task: missing, and {recipe!r} is not the recipe of one benchmark; {advice}")
        if (task is None) == (self.train is None) or (task is None) != (self.task_dir is None):
            raise ConfigError(
                "give either --train (a labelled file), or --task and --task-dir (a benchmark, whose recipe implies it)"
            )
        columns = self.columns.model_dump()
        if self.train is None:
            validate_not_given({**columns, "task_type": self.task_type}, NO_COLUMNS.format(instead="--train"))
            validate_not_given({"dev": self.dev}, "a benchmark has its own; replace it by --split-file dev=FILE")
            files = {"split_files": files_by_split(self.split_file)} if self.split_file else {}
            return {"task": task, "directory": str(self.task_dir), **files}
        if self.split_file:
            raise ConfigError(f"split_file: {ONLY_BENCHMARKS} --train and --dev")
        files = {"train": str(self.train)} | ({"dev": str(self.dev)} if self.dev is not None else {})
        named = {name: column for name, column in columns.items() if column is not None}
        return {**files, **named, "task_type": self.task_type}


def validate_labels_of_benchmark(unlabelled_rows: UnlabelledRows) -> None:
    """Raise ConfigError where rows of a benchmark are to be skipped."""
    if unlabelled_rows != "error":
        raise ConfigError("unlabelled_rows: only for a file (--data); leave it out")


def files_by_split(values: Sequence[str]) -> dict[Any, str]:
    """Split → file, from SPLIT=FILE."""
    pairs = [value.partition("=") for value in values]
    if not all(split and file for split, _, file in pairs) or len({split for split, _, _ in pairs}) < len(pairs):
        raise ConfigError("split_file: expected SPLIT=FILE, one file for each split, such as dev=mine.tsv")
    return {split: file for split, _, file in pairs}


def predicted_split(
    task: str | None, split: PredictedSplit | None, file: str | None, *, default: PredictedSplit, instead: str
) -> BenchmarkSplit | None:
    """The split of a benchmark to predict: `split`, that of SPLIT=FILE, or `default`; None without a task.

    `instead` is the argument of a file that belongs to no benchmark, for messages.
    """
    if task is None:
        if split is not None or file is not None:
            raise ConfigError(f"{'split' if split else 'split_file'}: {ONLY_BENCHMARKS} {instead}")
        return None
    benchmark_task(task)
    ((name, own),) = files_by_split([file]).items() if file else ((split or default, None),)
    if split not in (None, name):
        raise ConfigError(f"split: {split!r}, but --split-file gives a file for {name!r}; remove --split")
    return BenchmarkSplit(task=task, split=name, file=own)
