"""`litebert export MODEL OUT`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.export import ExportRun


def export(run: Annotated[ExportRun, arguments_of(ExportRun, positional=("model", "out"))], json: Json = False) -> None:
    """Write a model as ONNX files, which onnxruntime, transformers.js and `litebert.runtime` run without torch.

    The layers are a loop over one stored block. The outputs are compared with torch's before anything is written.
    """
    from litebert.commands.export import export as export_model

    result = export_model(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
