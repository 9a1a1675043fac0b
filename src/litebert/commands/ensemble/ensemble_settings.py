"""The settings of `litebert ensemble`. Imports no torch, so that wrong settings are refused at once."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from litebert.commands.data_arguments import ExampleArguments, SlicedColumnArguments
from litebert.commands.model_arguments import ModelArguments


class EnsembleRun(ModelArguments, ExampleArguments):
    """The settings of an ensemble; its examples may have labels or not."""

    columns: SlicedColumnArguments = SlicedColumnArguments()
    members: tuple[str, ...] = Field(min_length=1)
    """Run, model or export directories, RUN/checkpoints/step-…, or names on the hub; their order does not matter."""
    metrics: tuple[str, ...] = ()
    """Metrics; the first selects members (default: those of the benchmark or of the task type)."""
    select: Literal["all", "forward"] = "all"
    """All members, or those of a forward selection on this data, whose scores then overestimate."""
    out: Path | None = None
    """File of the predictions: .jsonl, .csv or .tsv, also .conll for .conll and .conllu for .conllu; a directory for
    SQuAD; with a benchmark in the format of its leaderboard."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(map(Path, self.members))) < len(self.members):
            raise ValueError("a member is given twice; give each member once")
        return self
