"""Arguments that several commands share, and results on stdout as text or, with `--json`, as JSON."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, TextIO

from tyro.conf import FlagCreatePairsOff, Positional, arg

Files = Annotated[tuple[str, ...], Positional, arg(metavar="FILES", help_behavior_hint="(required)")]
FilesOrValidation = Annotated[
    tuple[str, ...], Positional, arg(metavar="FILES", help_behavior_hint="(required, or --validation)")
]
CorpusDirectory = Annotated[Path, Positional, arg(metavar="CORPUS", help="corpus directory")]
Recipe = Annotated[str, Positional, arg(metavar="RECIPE")]
OptionalRecipe = Annotated[str, Positional, arg(metavar="[RECIPE]", help_behavior_hint="(default: default)")]
Overrides = Annotated[tuple[str, ...], Positional, arg(metavar="[SETTING=VALUE …]", help_behavior_hint="")]
Several = Annotated[tuple[str, ...], arg(metavar="[NAME …]", help_behavior_hint="")]
OptionalPath = Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")]
OptionalName = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
Flag = Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")]
Json = Annotated[bool, FlagCreatePairsOff, arg(help="print JSON instead of text", help_behavior_hint="")]


def recipe_and_settings(recipe: str, settings: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The words before the options: without a recipe, the first one is a setting."""
    is_setting = "=" in recipe and not recipe.endswith((".yaml", ".yml"))
    return ("default", (recipe, *settings)) if is_setting else (recipe, settings)


def is_first_process() -> bool:
    """Whether this is the only process of the command, or rank 0 under torchrun."""
    return os.environ.get("RANK", "0") == "0"


def emit(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result: `text`, or `result` as one JSON object a line."""
    if is_first_process():
        print(json.dumps(dict(result), ensure_ascii=not is_unicode(sys.stdout), default=str) if as_json else text)


def is_unicode(stream: TextIO) -> bool:
    """Whether a stream can write all characters."""
    return (stream.encoding or "utf-8").lower().startswith("utf")


def print_result(result: Any, *, as_json: bool) -> None:
    """Print what a command returns: its `to_text()`, or its fields as one JSON object."""
    emit(result.to_dict() if hasattr(result, "to_dict") else asdict(result), result.to_text(), as_json=as_json)


def section(title: str, lines: Mapping[str, str]) -> str:
    """A section of a help text: names and their meanings, wrapped; tyro keeps indented lines as they are."""
    width = max(map(len, lines)) + 4
    rows = [fill(f"  {name}".ljust(width) + line, 96, subsequent_indent=" " * width) for name, line in lines.items()]
    return "\n".join([title, *rows])
