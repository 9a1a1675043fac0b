"""`litebert evaluate MODEL --corpus DIR`, `… --data FILE` or `… --task NAME --data DIR`."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from tyro.conf import arg

from litebert.cli.output import Json, Model, OptionalName, OptionalPath, Several, emit
from litebert.corpus.example_settings import ExampleSettings
from litebert.errors import ConfigError

PairTasks = Annotated[tuple[Literal["sop", "nsp"], ...], arg(help_behavior_hint="(default: both)")]
PartFiles = Annotated[tuple[str, ...], arg(metavar="PART=FILE …", help_behavior_hint="")]
EXAMPLES = ExampleSettings(max_length=128)


def evaluate(
    model: Model,
    *,
    corpus: OptionalPath = None,
    data: OptionalPath = None,
    task: OptionalName = None,
    files: PartFiles = (),
    text: str = "text",
    text_pair: OptionalName = None,
    label: str = "label",
    options: Several = (),
    slice: OptionalName = None,
    metrics: Several = (),
    report: OptionalPath = None,
    most_examples: int = 2048,
    pair_tasks: PairTasks = ("sop", "nsp"),
    precision: Literal["fp32", "bf16"] = "fp32",
    examples: ExampleSettings = EXAMPLES,
    json: Json = False,
) -> None:
    """Score a pretrained model on held-out text (--corpus), or a fine-tuned one on labelled rows: a file of yours
    (--data), or the development files of a published task (--task, with --data its directory): GLUE, SQuAD or RACE.

    Args:
        corpus: corpus directory, whose held-out part is scored
        data: .csv, .tsv or .jsonl with named columns, .conll, .json of SQuAD; with --task the directory of its files
        task: a published task, such as cola, mnli (both development sets), squad-v2.0, race (by level) or race-high
        files: files of your own laid out as those of the task, each for the part that it stands for, such as
            dev=mine.tsv; in the directory, or with its path. They alone are scored
        text: column of the text
        text_pair: column of the second text of a pair, or of a question with options
        label: column of the label, labels, score or right option
        options: columns of the options of a multiple choice; default: those called option1, option2, …
        slice: column by whose values the rows are also scored apart
        metrics: what to measure on labelled rows; default: what is usual for their kind
        report: HTML page to write: every table, and the worst errors
        most_examples: how much of the held-out text to score
        pair_tasks: sop, nsp: both are asked of any model, whichever it was trained on; one line each
        precision: arithmetic of the model on held-out text
    """
    if (corpus is None) == (data is None):
        raise ConfigError("evaluate: give either --corpus (held-out text) or --data (a labelled file)")
    if files and task is None:
        raise ConfigError("files: stand for parts of a published task; give --task, or the file itself as --data")
    if data is not None and task is not None:
        from litebert.runs.evaluate_labelled import evaluate_official

        parts = evaluate_official(model, task, data, files=_by_part(files), metrics=metrics, report=report)
        emit(parts.to_dict(), parts.to_text(), as_json=json)
    elif data is not None:
        from litebert.runs.evaluate_labelled import evaluate_labelled
        from litebert.tasks.delimited import Columns

        columns = Columns(text=text, text_pair=text_pair, label=label, options=options, slice=slice)
        result = evaluate_labelled(model, data, columns, metrics=metrics, report=report)
        emit(result.to_dict(), result.to_text(), as_json=json)
    else:
        from litebert.runs.evaluate import evaluate_held_out

        assert corpus is not None
        scores = evaluate_held_out(
            model, corpus, examples, most_examples=most_examples, pair_tasks=pair_tasks, precision=precision
        )
        emit(scores.to_dict(), scores.to_report(), as_json=json)


def _by_part(files: Sequence[str]) -> dict[Any, str]:
    """Part → file, from PART=FILE; the part is checked where the task is known."""
    pairs = [value.partition("=") for value in files]
    if not all(part and file for part, _, file in pairs) or len({part for part, _, _ in pairs}) < len(pairs):
        raise ConfigError("files: give PART=FILE, a file for each part, such as dev=mine.tsv")
    return {part: file for part, _, file in pairs}
