"""`litebert ensemble RUN RUN RUN --data FILE`, or `--task NAME --task-dir DIR`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.ensemble.ensemble_settings import EnsembleRun


def ensemble(
    run: Annotated[EnsembleRun, arguments_of(EnsembleRun, positional=("members",))], json: Json = False
) -> None:
    """Average the predictions of several fine-tuned models: other seeds, checkpoints, sizes, even other tokenizers.

    As in the paper, probabilities or scores are averaged; for question answering the scores of each span over the
    members that propose it, and the scores of "no answer". Data without labels is predicted, not scored.
    """
    from litebert.commands.ensemble.ensemble import ensemble as average_models

    result = average_models(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
