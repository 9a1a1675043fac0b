"""`litebert evaluate MODEL --corpus DIR`, `… --data FILE` or `… --task NAME --data DIR`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from tyro.conf import arg

from litebert.cli.arguments.common import Json, Model, OptionalName, OptionalPath, Several, emit
from litebert.cli.arguments.labelled_data import (
    COLUMNS,
    NO_TASK,
    OWN_COLUMNS,
    ColumnArguments,
    PartFiles,
    files_by_part,
)
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.settings import validate_not_given

PairTasks = Annotated[tuple[Literal["sop", "nsp"], ...], arg(help_behavior_hint="(default: both)")]
Scored = tuple[Mapping[str, Any], str]
"""A result for programs and for people."""


@dataclass(frozen=True, kw_only=True)
class ScoredRows:
    """Labelled rows for a fine-tuned model."""

    data: OptionalPath = None
    """.csv, .tsv or .jsonl with named columns, .conll, .json of SQuAD; with --task the directory of its files"""
    task: OptionalName = None
    """a published task, such as cola, mnli (both development sets), squad-v2.0, race (by level) or race-high"""
    files: PartFiles = ()
    """your own files laid out as the task's, each in place of a part, such as dev=mine.tsv; they alone are scored"""
    metrics: Several = ()
    """what to measure; default: what is usual for the kind of the rows"""
    report: OptionalPath = None
    """HTML page to write: every table, and the worst errors"""


@dataclass(frozen=True, kw_only=True)
class HeldOutText:
    """Held-out text for a pretrained model."""

    corpus: OptionalPath = None
    """corpus directory, whose held-out part is scored"""
    max_eval_examples: int = 2048
    """how much of the held-out text to score"""
    eval_pair_objectives: PairTasks = ("sop", "nsp")
    """sop, nsp: both are asked of any model, whichever it was trained on; one line each"""
    precision: Literal["fp32", "bf16"] = "fp32"
    """arithmetic of the model"""


ROWS: Final = ScoredRows()
TEXT: Final = HeldOutText()
EXAMPLES: Final = SamplingSettings(max_length=128)


def evaluate(
    model: Model,
    *,
    rows: ScoredRows = ROWS,
    columns: ColumnArguments = COLUMNS,
    text: HeldOutText = TEXT,
    examples: SamplingSettings = EXAMPLES,
    json: Json = False,
) -> None:
    """Score a pretrained model on held-out text (--corpus), or a fine-tuned one on labelled rows: a file of yours
    (--data), or the development files of a published task (--task, with --data its directory): GLUE, SQuAD or RACE.
    """
    if (text.corpus is None) == (rows.data is None):
        raise ConfigError("evaluate: give either --corpus (held-out text) or --data (a labelled file)")
    if rows.files and rows.task is None:
        raise ConfigError(f"files: {NO_TASK} --data")
    if rows.task is not None:
        validate_not_given(asdict(columns), OWN_COLUMNS.format(otherwise="--data"))
    if rows.data is None:
        result, shown = _on_text(model, text, examples)
    elif rows.task is None:
        result, shown = _on_file(model, rows.data, rows, columns)
    else:
        result, shown = _on_task(model, rows.data, rows.task, rows)
    emit(result, shown, as_json=json)


def _on_text(model: Path, text: HeldOutText, examples: SamplingSettings) -> Scored:
    from litebert.commands.evaluate.evaluate import evaluate_held_out

    assert text.corpus is not None
    scores = evaluate_held_out(
        model,
        text.corpus,
        examples,
        max_eval_examples=text.max_eval_examples,
        eval_pair_objectives=text.eval_pair_objectives,
        precision=text.precision,
    )
    return scores.to_dict(), scores.to_report()


def _on_file(model: Path, file: Path, rows: ScoredRows, columns: ColumnArguments) -> Scored:
    from litebert.commands.evaluate.evaluate_labelled import evaluate_labelled

    result = evaluate_labelled(model, file, columns.to_columns(), metrics=rows.metrics, report=rows.report)
    return result.to_dict(), result.to_text()


def _on_task(model: Path, directory: Path, task: str, rows: ScoredRows) -> Scored:
    from litebert.commands.evaluate.evaluate_labelled import evaluate_official

    files = files_by_part(rows.files)
    result = evaluate_official(model, task, directory, files=files, metrics=rows.metrics, report=rows.report)
    return result.to_dict(), result.to_text()
