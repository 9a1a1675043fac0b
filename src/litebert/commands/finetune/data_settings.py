"""The settings of the data of a fine-tuning run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from litebert.commands.finetune.default_settings import SMALL_BATCH_ROWS, count_rows
from litebert.errors import LitebertError
from litebert.settings import Settings
from litebert.tasks.benchmarks.benchmarks import Split, benchmark_task
from litebert.tasks.labelled_data import InvalidAnswers, UnlabelledRows
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.tables import TABLE_ENDINGS
from litebert.tasks.readers.text_files import format_ending


class DevSplit(Settings):
    """Development examples held out from the training file."""

    fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of the rows that is held out."""
    group_by: str | None = None
    """Column of a document, user or the like, whose rows stay together. Null: equal texts stay together."""
    seed: int = Field(default=0, ge=0)
    """Seed of the split; it is independent of the seed of the run."""


class LabelledFiles(Settings):
    """Labelled files of your own and their columns."""

    train: Path
    """CSV, TSV, JSONL or Parquet file with named columns, .conll, .conllu, or `hf:OWNER/NAME:SPLIT`."""
    dev: Path | DevSplit = DevSplit()
    """File that selects the best model, or how to hold out rows of `train`."""
    text: str | None = None
    """Column of the text, or of the lists of words; null: `text`, or `question` in a table of questions."""
    text_pair: str | None = None
    """Column of the second text of a pair, or of the question of a multiple choice; null: `text_pair`, if there is such
    a column."""
    label: str | None = None
    """Column of the label, labels, score, correct option or list of labels; null: `label`, or `answer`. In training an
    object of probabilities, such as `{"good": 0.9, "bad": 0.1}`, is a soft label."""
    options: tuple[str, ...] = ()
    """Columns of the options of a multiple choice, or the one with lists; empty: found by their names."""
    slice: str | None = None
    """Column by whose values the development rows are also scored separately."""
    task_type: str | None = None
    """Task type, such as classification; null: guessed from the file and logged."""
    invalid_answers: InvalidAnswers = "error"
    """What to do with an answer that its context does not contain: `error`, or `skip` and count it."""
    unlabelled_rows: UnlabelledRows = "error"
    """What to do with a row of a table whose label is empty: `error`, or `skip` and count it. Multi-label rows and
    questions need no label: an empty one says that there is none."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        files = (self.train, self.dev) if isinstance(self.dev, Path) else (self.train,)
        if self.columns.named() and any(format_ending(file) not in TABLE_ENDINGS for file in files):
            from litebert.tasks.file_formats import validate_columns_apply  # imports torch

            validate_columns_apply(self.columns, *files)
        return self

    @property
    def columns(self) -> Columns:
        """The named columns."""
        group = self.dev.group_by if isinstance(self.dev, DevSplit) else None
        named = self.model_dump(include={"text", "text_pair", "label", "options", "slice"})
        return Columns(**named, group=group)


class BenchmarkFiles(Settings):
    """A published task and its files."""

    task: str
    """Name of a task: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, wnli-pronouns, race, race-middle, …"""
    directory: Path
    """Directory with the folder of the task, such as `CoLA`; or that folder."""
    dev: Split = "dev"
    """Split that selects the best model."""
    split_files: dict[Split, str] = Field(default_factory=dict)
    """Files of your own in the layout of the official ones, such as a subset, by split: train and dev."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        splits = benchmark_task(self.task).splits
        for split in ("train", self.dev):
            if split not in splits:
                raise ValueError(f"the task {self.task} has no split {split!r}; it has {', '.join(splits)}")
        for split in self.split_files:
            if split not in ("train", self.dev):
                raise ValueError(f"split_files: only train and {self.dev} are read; remove {split}, or set data.dev")
        return self


def _data_tag(value: Any) -> str:
    is_benchmark = isinstance(value, BenchmarkFiles) or (isinstance(value, Mapping) and "task" in value)
    return "(benchmark)" if is_benchmark else "(labelled)"


Data = Annotated[
    Annotated[LabelledFiles, Tag("(labelled)")] | Annotated[BenchmarkFiles, Tag("(benchmark)")],
    Discriminator(_data_tag),
]


def num_training_rows(data: LabelledFiles | BenchmarkFiles) -> int | None:
    """Rows of the training file, or of the official one of a benchmark; None where they are not known."""
    if isinstance(data, LabelledFiles):
        is_skipped = data.unlabelled_rows == "skip"
        return count_rows(data.train, skip_unlabelled=is_skipped, columns=data.columns, task_type=data.task_type)
    if own := data.split_files.get("train"):
        from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit  # imports torch

        try:
            return len(BenchmarkSplit(task=data.task, split="train", file=own).read(data.directory).examples)
        except LitebertError:  # which the run itself reports
            return None
    return benchmark_task(data.task).splits["train"].rows or SMALL_BATCH_ROWS


def without_directory(data: LabelledFiles | BenchmarkFiles) -> dict[str, Any]:
    """The settings of the data of a run, without the place of a benchmark on the disk."""
    return data.to_dict() | {"directory": None}
