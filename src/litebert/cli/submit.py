"""`litebert submit TASK=MODEL … --data GLUE --out glue.zip`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.output import Json, emit
from litebert.errors import ConfigError

Models = Annotated[tuple[str, ...], Positional, arg(metavar="TASK=MODEL", help_behavior_hint="(required)")]


def submit(
    models: Models,
    *,
    data: Path,
    out: Path,
    precision: Literal["fp32", "bf16"] = "fp32",
    json: Json = False,
) -> None:
    """Answer the test files of GLUE and pack them for its leaderboard; the model for mnli also answers the diagnostics.

    Args:
        models: a task and the model directory for it, such as cola=runs/cola/model
        data: directory of the published files of GLUE
        out: the .zip to write
        precision: arithmetic of the models
    """
    from litebert.runs.predict_official import submit_glue

    pairs = [value.partition("=") for value in models]
    if not pairs or not all(task and model for task, _, model in pairs):
        raise ConfigError("submit: give TASK=MODEL for one task or more, such as cola=runs/cola/model")
    result = submit_glue({task: Path(model) for task, _, model in pairs}, data, out, precision=precision)
    emit(result.to_dict(), result.to_text(), as_json=json)
