"""`litebert predict MODEL INPUT OUTPUT`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.output import Json, Model, OptionalName, emit


def predict(
    model: Model,
    input: Annotated[Path, Positional, arg(metavar="INPUT")],
    output: Annotated[Path, Positional, arg(metavar="OUTPUT")],
    *,
    text: str = "text",
    text_pair: OptionalName = None,
    top_k: int = 5,
    precision: Literal["fp32", "bf16"] = "fp32",
    threads: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    json: Json = False,
) -> None:
    """Answer for every row of a file; the model decides whether masks are filled, texts classified or scored.

    Args:
        input: a .txt file with a text a line, or a .csv, .tsv or .jsonl file with named columns
        output: a .jsonl, .csv or .tsv file to write; the ending decides
        text: column of the text
        text_pair: column of the second text of a pair
        top_k: fillings to give for each [MASK]
        precision: arithmetic of the model
        threads: threads to use; default: torch's choice
    """
    from litebert.runs.predict import PredictRun
    from litebert.runs.predict import predict as run

    values = {"model": str(model), "input": str(input), "output": str(output), "text": text, "text_pair": text_pair}
    options = {"top_k": top_k, "precision": precision, "threads": threads}
    result = run(PredictRun.parse({**values, **options}, where="predict"))
    emit(result.to_dict(), result.to_text(), as_json=json)
