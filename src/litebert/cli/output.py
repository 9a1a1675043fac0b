"""How verbs print: results on stdout, as text for people or as JSON with `--json`."""

import json
from collections.abc import Mapping
from typing import Any


def emit(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result: `text`, or `result` as one JSON object."""
    print(json.dumps(dict(result), ensure_ascii=False, default=str) if as_json else text)
