"""`litebert info PRESET|MODEL [SETTING=VALUE …]`."""

from textwrap import fill
from typing import Annotated

from tyro.conf import Positional, arg

from litebert.cli.arguments.common import Json, Overrides, print_result


def description() -> str:
    """Text of `--help`, with all presets."""
    from litebert.model.presets import PRESETS

    summary = "Parameters, FLOPs and memory of a preset or a model; its weights are not loaded."
    return f"{summary}\n\n{fill('Presets: ' + ', '.join(PRESETS), 96, subsequent_indent='  ', break_on_hyphens=False)}"


def info(
    name: Annotated[str, Positional, arg(metavar="PRESET|MODEL")],
    overrides: Overrides = (),
    *,
    length: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    batch_size: int = 8,
    json: Json = False,
) -> None:
    """Parameters, FLOPs and memory of an architecture.

    Args:
        name: a preset, a model or run directory, or a name on the hub
        overrides: fields of the config to change, such as sharing=none or num_hidden_layers=6
        length: tokens per sequence; unset: 512, or the positions of a model that has fewer
        batch_size: sequences per training step
    """
    from litebert.commands.info import info as run

    print_result(run(name, overrides, length=length, batch_size=batch_size), as_json=json)
