"""`litebert predict MODEL INPUT OUTPUT`, with `--task NAME` for the files of a benchmark."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.predict.predict import PredictRun


def predict(
    run: Annotated[PredictRun, arguments_of(PredictRun, positional=("model", "input", "output"))], json: Json = False
) -> None:
    """Predict every row of a file: words for masks, labels, scores, options, labels of words, or answers.

    Files of any size are read and written in parts. A command that was stopped continues where it was. A pattern of
    files, such as 'texts/*.csv', has an output for each file in the directory OUTPUT.
    """
    from litebert.commands.predict.predict import predict as predict_file

    result = predict_file(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
