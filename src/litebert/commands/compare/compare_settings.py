"""The settings of `litebert compare`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import ExampleArguments
from litebert.commands.model_arguments import ModelArguments


class CompareRun(ModelArguments, ExampleArguments):
    """Two groups of fine-tuned models, such as runs with several seeds, and the labelled examples to score them on."""

    models: tuple[str, ...] = Field(min_length=1)
    """Run directories, model directories, RUN/checkpoints/step-…, or names on the hub."""
    baseline: tuple[str, ...] = Field(min_length=1)
    """The models to compare them with."""
    data: Path | None = None
    """CSV, TSV, JSON lines, Parquet, CoNLL, CoNLL-U or SQuAD file with labels."""
    metrics: tuple[str, ...] = ()
    """Metrics (default: those of the benchmark or of the task type)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [*map(Path, self.models), *map(Path, self.baseline)]
        if len(set(given)) < len(given):
            raise ValueError("a model is given twice; give each model once, in one of the groups")
        return self
