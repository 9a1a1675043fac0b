"""`litebert analyze curves RUN…` and `litebert analyze layers MODEL…`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, OptionalPath, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.analyze.layers_settings import LayersRun

Runs = Annotated[tuple[Path, ...], Positional, arg(metavar="RUN…", help_behavior_hint="(required)")]


def curves(
    runs: Runs,
    *,
    out: OptionalPath = None,
    over: Literal["steps", "tokens", "minutes"] = "steps",
    json: Json = False,
) -> None:
    """Plot the curves of runs on one self-contained HTML page.

    Training and validation accuracy and loss, learning rate, gradient norm, throughput; several runs are compared.

    Args:
        runs: run directories, of finished or unfinished runs
        out: the page to write; default: curves.html in the first run directory
        over: the x axis; compare runs with different batch sizes over tokens, on different machines over minutes
    """
    from litebert.commands.analyze.curves import curves as run

    print_result(run(runs, out, over=over), as_json=json)


def layers(run: Annotated[LayersRun, arguments_of(LayersRun, positional=("models",))], json: Json = False) -> None:
    """Measure distance and angle between the input and the output of each layer, as in figure 1 of the paper."""
    from litebert.commands.analyze.layer_analysis import layers as measure

    print_result(measure(run), as_json=json)
