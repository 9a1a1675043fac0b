"""`litebert serve MODEL …`."""

from typing import Annotated

from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.serving.serve_settings import ServeSettings


def serve(settings: Annotated[ServeSettings, arguments_of(ServeSettings, positional=("models",))]) -> None:
    """Answer HTTP requests with models, in batches, until SIGTERM or Ctrl-C.

    The page for trying them is at http://127.0.0.1:8000, the reference of the routes at /docs. SIGHUP loads the models
    again. There is no TLS: use a proxy for connections from other machines.
    """
    from litebert.commands.serve import serve as run

    run(settings)
