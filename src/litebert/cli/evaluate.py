"""`litebert evaluate MODEL --corpus DIR`, `… --suite DIR`, `… --data FILE` or `… --task NAME --task-dir DIR`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.evaluate.evaluate_settings import EvaluateRun


def evaluate(run: Annotated[EvaluateRun, arguments_of(EvaluateRun, positional=("model",))], json: Json = False) -> None:
    """Evaluate a pretrained model on validation text (--corpus) or minimal pairs such as BLiMP (--suite), or a
    fine-tuned one on labelled data: a file of your own (--data), or the development splits of GLUE, SQuAD or RACE
    (--task, --task-dir).
    """
    from litebert.commands.evaluate.evaluate import evaluate as evaluate_model

    result, text = evaluate_model(run)
    emit(result, text, as_json=json)
