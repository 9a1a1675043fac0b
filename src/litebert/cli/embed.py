"""`litebert embed MODEL INPUT OUTPUT`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.embed.embed import EmbedRun


def embed(
    run: Annotated[EmbedRun, arguments_of(EmbedRun, positional=("model", "input", "output"))], json: Json = False
) -> None:
    """Write the embedding of every row of a file: a vector made from the hidden states of a model.

    Files of any size are read and written in parts. A command that was stopped continues where it was.
    """
    from litebert.commands.embed.embed import embed as embed_file

    result = embed_file(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
