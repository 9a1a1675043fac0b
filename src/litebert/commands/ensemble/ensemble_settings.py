"""The settings of `litebert ensemble`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import NO_COLUMNS, ColumnArguments, PredictedSplit, predicted_split
from litebert.settings import InferencePrecision, Settings, validate_not_given
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit


class EnsembleRun(Settings):
    """The settings of an ensemble."""

    members: tuple[str, ...] = Field(min_length=1)
    """Run directories, model directories, RUN/checkpoints/step-…, or names on the hub; their order does not matter."""
    data: Path | None = None
    """CSV, TSV, JSON lines, CoNLL or SQuAD file, with or without labels."""
    task: str | None = None
    """A benchmark, such as cola or race."""
    task_dir: Path | None = None
    """Directory with the files of the benchmark."""
    split: PredictedSplit | None = None
    """Its split (default: dev)."""
    split_file: str | None = None
    """SPLIT=FILE: a file of your own in the layout of the benchmark's, such as test=mine.tsv."""
    columns: ColumnArguments = ColumnArguments()
    metrics: tuple[str, ...] = ()
    """Metrics; the first selects members (default: those of the benchmark or of the task type)."""
    select: Literal["all", "forward"] = "all"
    """All members, or those of a forward selection on this data, whose scores then overestimate."""
    out: Path | None = None
    """File of the predictions: .jsonl, .csv or .tsv, also .conll for .conll; a directory for SQuAD; with a benchmark in
    the format of its leaderboard."""
    precision: InferencePrecision = "fp32"
    """Arithmetic of the models."""

    @property
    def benchmark_split(self) -> BenchmarkSplit | None:
        """The split of a benchmark to predict; None for a file of your own."""
        return predicted_split(self.task, self.split, self.split_file, default="dev", instead="--data")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(map(Path, self.members))) < len(self.members):
            raise ValueError("a member is given twice; give each member once")
        split = self.benchmark_split
        if (self.data is None) == (self.task_dir is None) or (split is None) != (self.task_dir is None):
            raise ValueError("give either --data (a file), or --task and --task-dir (a benchmark)")
        if split is not None:
            validate_not_given(self.columns.model_dump(), NO_COLUMNS.format(instead="--data"))
        return self
