"""`litebert analyze curves RUN…`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, OptionalPath, emit

Runs = Annotated[tuple[Path, ...], Positional, arg(metavar="RUN…", help_behavior_hint="(required)")]


def curves(
    runs: Runs,
    *,
    out: OptionalPath = None,
    over: Literal["steps", "tokens", "minutes"] = "steps",
    json: Json = False,
) -> None:
    """Draw the curves of runs on one page, an HTML file that needs nothing else.

    Accuracies and losses on training and held-out text, learning rate, gradient norm, rate; several runs are compared.

    Args:
        runs: run directories; those of runs that are still going on as well
        out: the page to write; default: curves.html in the first run directory
        over: what to draw them over; runs with other batch sizes compare over tokens, other machines over minutes
    """
    from litebert.commands.curves import curves as run
    from litebert.errors import ConfigError

    if not runs:
        raise ConfigError("analyze curves: no run was named; give one or more run directories")
    result = run(runs, out, over=over)
    emit(result.to_dict(), result.to_text(), as_json=json)
