"""`litebert search MODEL INPUT --query TEXT`."""

from typing import Annotated

from litebert.cli.arguments.common import Json, emit
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.embed.search import SearchRun


def search(
    run: Annotated[SearchRun, arguments_of(SearchRun, positional=("model", "input"))], json: Json = False
) -> None:
    """Find the rows of a file whose embeddings are nearest to a query."""
    from litebert.commands.embed.search import search as search_file

    result = search_file(run)
    emit(result.to_dict(), result.to_text(), as_json=json)
