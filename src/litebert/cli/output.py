"""How verbs print: results on stdout, as text for people or as JSON with `--json`."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import tyro

Files = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILES")]
Json = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="print JSON instead of text")]


def emit(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result: `text`, or `result` as one JSON object a line."""
    print(json.dumps(dict(result), ensure_ascii=False, default=str) if as_json else text)
