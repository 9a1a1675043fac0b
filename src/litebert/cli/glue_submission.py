"""`litebert glue-submission TASK=MODEL … FILE.tsv … --task-dir GLUE --out glue.zip`."""

from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, emit
from litebert.commands.glue_submission import GlueSubmissionRun

Predictions = Annotated[tuple[str, ...], Positional, arg(metavar="TASK=MODEL|FILE …", help_behavior_hint="(required)")]


def glue_submission(predictions: Predictions, run: GlueSubmissionRun, json: Json = False) -> None:
    """Predict the test files of GLUE and pack them for its leaderboard; models for mnli also predict the diagnostics.

    Several models for a task are averaged, as by `litebert ensemble`.

    Args:
        predictions: a task and a run or model directory: cola=RUN; several: cola=A cola=B or 'cola=SEEDS/runs/*'; or
            submission files by their official names, such as CoLA.tsv, as `ensemble` and `predict` write them
    """
    from litebert.commands.glue_submission import glue_submission as write_submission

    result = write_submission(predictions, run)
    emit(result.to_dict(), result.to_text(), as_json=json)
