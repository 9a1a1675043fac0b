"""`litebert embed` and `litebert search`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.embed.embed_settings import EmbedRun, SearchRun


def embed(
    run: Annotated[EmbedRun, arguments_of(EmbedRun, positional=("model", "input", "output"))], json: Json = False
) -> None:
    """Write the embedding of every row of a file: a vector made from the hidden states of a model.

    Files of any size are read and written in parts. A command that was stopped continues where it was. A pattern of
    files, such as 'texts/*.csv', has an output for each file in the directory OUTPUT.
    """
    from litebert.commands.embed.embed import embed as embed_file

    result = embed_file(run)
    emit(result.to_dict(), result.to_text(), as_json=json)


def search(
    run: Annotated[SearchRun, arguments_of(SearchRun, positional=("model", "input"))], json: Json = False
) -> None:
    """Find the rows of a file whose embeddings are nearest to a query, by the dot product.

    The file is embedded each time, unless --vectors names the vectors that `litebert embed` has made of it.
    """
    from litebert.commands.embed.search import search as search_file

    result = search_file(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
