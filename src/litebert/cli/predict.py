"""`litebert predict MODEL INPUT OUTPUT`, with `--task NAME` for the published files of a task."""

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, Model, OptionalName, Several, emit
from litebert.cli.arguments.labelled_data import OWN_COLUMNS, OptionalPart, PartFile, answered_part
from litebert.settings import validate_not_given


def predict(
    model: Model,
    input: Annotated[Path, Positional, arg(metavar="INPUT")],
    output: Annotated[Path, Positional, arg(metavar="OUTPUT")],
    *,
    text: OptionalName = None,
    text_pair: OptionalName = None,
    options: Several = (),
    task: OptionalName = None,
    part: OptionalPart = None,
    files: PartFile = None,
    threshold: Annotated[float | None, arg(metavar="NUMBER", help_behavior_hint="")] = None,
    top_k: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    precision: Literal["fp32", "bf16"] = "fp32",
    threads: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    json: Json = False,
) -> None:
    """Answer for every row of a file; the model decides what: words for masks, labels, scores, options, tags.

    Args:
        input: a .txt file with a text a line, a .csv, .tsv or .jsonl file, a SQuAD .json file, or .conll columns with
            a word a line; with --task a directory
        output: a .jsonl, .csv or .tsv file to write; the ending decides; for .conll columns also .conll, with the tag
            as one more column; for a SQuAD file a directory; with --task as its leaderboard wants it
        text: column of the text; this and the next one are called as in training where you name none
        text_pair: column of the second text of a pair, of a question with options, or of the context of a question
        options: columns of the options of a multiple choice; default: those called option1, option2, …
        task: a published task, whose files are in the directory INPUT
        part: which of its files (default: test)
        files: a file of yours laid out as the task's, in place of a part, which is then answered: test=mine.tsv
        threshold: a question whose score of "no answer" (null_odds.json) is greater has none; default: the threshold
            kept with the model, which `finetune` chose on its development questions
        top_k: fillings to give for each [MASK]; default: 5
        precision: arithmetic of the model
        threads: threads to use; default: torch's choice
    """
    from litebert.commands.predict.predict import PredictRun
    from litebert.commands.predict.predict_benchmark import predict_official
    from litebert.commands.predict.predict_file import predict_file

    values: dict[str, Any] = {"model": str(model), "input": str(input), "output": str(output), "text": text}
    values |= {
        "text_pair": text_pair,
        "options": options,
        "threshold": threshold,
        "top_k": top_k,
        "precision": precision,
        "threads": threads,
    }
    run = PredictRun.parse(values, where="predict")
    official = answered_part(task, part, files, usual="test", otherwise="INPUT")
    if official is None:
        result = predict_file(run)
    else:
        given = {"text": text, "text_pair": text_pair, "options": options, "top_k": top_k}
        validate_not_given(given, OWN_COLUMNS.format(otherwise="INPUT"))
        computed = {"precision": run.precision, "threads": run.threads, "threshold": run.threshold}
        result = predict_official(model, official, input, output, **computed)
    emit(result.to_dict(), result.to_text(), as_json=json)
