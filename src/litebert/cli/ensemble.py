"""`litebert ensemble RUN RUN RUN --data FILE`, or `--task NAME --data DIR`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, OptionalName, OptionalPath, Several, emit
from litebert.cli.arguments.labelled_data import (
    COLUMNS,
    OWN_COLUMNS,
    ColumnArguments,
    OptionalPart,
    PartFile,
    answered_part,
)
from litebert.settings import validate_not_given

Members = Annotated[tuple[Path, ...], Positional, arg(metavar="MEMBER …", help_behavior_hint="(required)")]


def ensemble(
    members: Members,
    *,
    data: Path,
    task: OptionalName = None,
    part: OptionalPart = None,
    files: PartFile = None,
    columns: ColumnArguments = COLUMNS,
    metrics: Several = (),
    select: Literal["all", "forward"] = "all",
    out: OptionalPath = None,
    precision: Literal["fp32", "bf16"] = "fp32",
    json: Json = False,
) -> None:
    """Average the predictions of several fine-tuned models: other seeds, checkpoints, sizes, even other tokenizers.

    As in the paper: probabilities (or scores) are averaged; for questions about a text the scores of each span over the
    members that propose it, and the scores of there being no answer. Rows without labels are answered only.

    Args:
        members: run directories, model directories, or RUN/checkpoints/step-…
        data: CSV, TSV, JSONL, CoNLL or SQuAD file, with labels or without; with --task the directory of its files
        task: a published task, such as cola or race
        part: which of its files (default: dev)
        files: a file of yours laid out as the task's, in place of a part, which is then answered: test=mine.tsv
        metrics: what to measure on labelled rows; the first one selects; default: what is usual for their kind
        select: all members, or those that forward selection chooses on these rows, which then are no test
        out: where to write the answers: a .jsonl, .csv or .tsv file; for CoNLL columns also .conll, with the tag as one
            more column; a directory for a SQuAD file; with --task as its leaderboard wants it
        precision: arithmetic of the models
    """
    from litebert.commands.ensemble.ensemble import ensemble as run

    if task is not None:
        validate_not_given(asdict(columns), OWN_COLUMNS.format(otherwise="--data"))
    result = run(
        members,
        data,
        columns.to_columns(),
        task=answered_part(task, part, files, usual="dev", otherwise="--data"),
        metrics=metrics,
        select=select,
        out=out,
        precision=precision,
    )
    emit(result.to_dict(), result.to_text(), as_json=json)
