"""The settings of `litebert glue-submission`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import model_validator

from litebert.commands.data_arguments import files_by_split
from litebert.commands.model_arguments import ModelArguments
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, Decision
from litebert.tasks.benchmarks.candidate_ranking import validate_ranked


class GlueSubmissionRun(ModelArguments):
    """The settings of a submission."""

    predictions: tuple[str, ...]
    """A task and a run, model or export directory, or a name on the hub: cola=RUN; several to average: cola=A cola=B or
    'cola=SEEDS/runs/*'; or submission files by their official names, such as CoLA.tsv, as `ensemble` and `predict`
    write them."""
    task_dir: Path
    """Directory with the files of GLUE."""
    out: Path
    """The .zip file to write."""
    split_file: tuple[str, ...] = ()
    """TASK.SPLIT=FILE …: test files of your own in the layout of GLUE's, such as cola.test=mine.tsv."""
    decision: Decision = "classify"
    """`rank`: for qnli, of the candidate sentences of a question in all of its files a single one is positive, as in
    the submission of the paper."""

    def own_splits(self) -> list[BenchmarkSplit]:
        """The test files of your own."""
        splits = []
        for place, file in files_by_split(self.split_file).items():
            task, _, split = place.rpartition(".")
            splits.append(BenchmarkSplit(task=task, split=split, file=file))
        return splits

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = [value.partition("=") for value in self.predictions if not value.endswith(".tsv")]
        if not self.predictions or not all(task and path for task, _, path in named):
            raise ValueError(
                "give TASK=MODEL for one task or more, such as cola=runs/cola, or submission files (CoLA.tsv)"
            )
        if self.decision == "rank":
            validate_ranked(*(task for task, _, _ in named if task in BENCHMARKS))
        self.own_splits()
        return self
