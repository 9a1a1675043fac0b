"""`litebert glue-submission TASK=MODEL … FILE.tsv … --task-dir GLUE --out glue.zip`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun


def glue_submission(
    run: Annotated[GlueSubmissionRun, arguments_of(GlueSubmissionRun, positional=("predictions",))], json: Json = False
) -> None:
    """Predict the test files of GLUE and pack them for its leaderboard; models for mnli also predict the diagnostics.

    Several models for a task are averaged, as by `litebert ensemble`.
    """
    from litebert.commands.glue_submission.glue_submission import glue_submission as write_submission

    result = write_submission(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
