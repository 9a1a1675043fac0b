"""The settings of `litebert compare`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import ExampleArguments
from litebert.commands.prediction_files.prediction_arguments import ScoredArguments


class CompareRun(ScoredArguments, ExampleArguments):
    """Two groups of fine-tuned models or prediction files, such as of several seeds, and the labelled examples."""

    models: tuple[str, ...] = Field(min_length=1)
    """Run, model or export directories, RUN/checkpoints/step-…, names on the hub, or prediction files of any program:
    .csv, .tsv, .jsonl, .json and so on."""
    baseline: tuple[str, ...] = Field(min_length=1)
    """The models or prediction files to compare them with."""
    data: Path | None = None
    """CSV, TSV, JSON lines, Parquet, CoNLL, CoNLL-U or SQuAD file with labels."""
    metrics: tuple[str, ...] = ()
    """Metrics (default: those of the benchmark or of the task type)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [*map(Path, self.models), *map(Path, self.baseline)]
        if len(set(given)) < len(given):
            raise ValueError("a model is given twice; give each model once, in one of the groups")
        self.validate_read([*self.models, *self.baseline], is_benchmark=self.task is not None)
        return self
