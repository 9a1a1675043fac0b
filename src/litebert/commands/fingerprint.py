"""What the output of a command depends on, as one digest."""

import glob
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from litebert.files import RUN_SETTINGS, path_of, sha256
from litebert.manifest import content_digests


def fingerprint_of(inputs: Sequence[Path], models: Sequence[Path], settings: Mapping[str, Any]) -> str:
    """Digest of the content of input files and model directories and of the settings."""
    content = [[sha256(path) for path in inputs], [content_digests(model) for model in models], dict(settings)]
    return hashlib.sha256(json.dumps(content, default=str, sort_keys=True).encode()).hexdigest()


def init_checkpoint_fingerprint(source: str | None) -> str:
    """One digest of `weights_digests`; empty where there are none."""
    digests = weights_digests(source) if source is not None else {}
    return fingerprint_of([], [], digests) if digests else ""


def weights_digests(source: str) -> dict[str, str]:
    """Digests of the files of an `init_checkpoint`: a model, a checkpoint, a run or a TensorFlow checkpoint.

    Of a run those of its model, or of its newest checkpoint; of a name on the hub none.
    """
    path = path_of(source)
    if (path / RUN_SETTINGS).is_file():
        places = [path / "model", *sorted(path.glob("checkpoints/step-*"), reverse=True)]
        path = next((place for place in places if place.is_dir()), path / "model")
    if path.is_dir():
        return content_digests(path)
    prefix = path.stem if path.suffix == ".index" else path.name  # of the names of the files of TensorFlow
    files = sorted(path.parent.glob(f"{glob.escape(prefix)}.*"))
    return {file.name: sha256(file) for file in files if file.is_file()}
