"""What the output of a command depends on, as one digest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from litebert.files import sha256
from litebert.manifest import content_digests


def fingerprint_of(
    settings: Mapping[str, Any] | None = None, *, inputs: Sequence[Path] = (), models: Sequence[Path] = ()
) -> str:
    """Digest of the settings and of the content of input files and model directories."""
    content = [[sha256(path) for path in inputs], [content_digests(model) for model in models], dict(settings or {})]
    return hashlib.sha256(json.dumps(content, default=str, sort_keys=True).encode()).hexdigest()
