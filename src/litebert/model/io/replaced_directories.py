"""Which directories a saved model may replace as a whole: those that hold a model and nothing else. Torch-free."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from litebert.errors import CheckpointError
from litebert.files import (
    EVALUATION,
    INPUT_SETTINGS,
    PRETRAINING_SETTINGS,
    QUESTION_SETTINGS,
    README,
    RUN_SETTINGS,
    TASK,
)
from litebert.manifest import MANIFEST, read_manifest
from litebert.model.io.model_spec import CONFIG, LITEBERT_MODEL_TYPE

BESIDE_WEIGHTS: Final = (
    *(CONFIG, README, MANIFEST, TASK, EVALUATION, INPUT_SETTINGS, QUESTION_SETTINGS, PRETRAINING_SETTINGS),
    *("*.model", "*.vocab", "vocab.txt", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "generation_config.json"),
    *("LICENSE*", ".gitattributes", ".gitignore", ".cache/**"),  # of the hub, and of downloads from it
    *(".DS_Store", "._*", "Thumbs.db", "desktop.ini"),  # of file managers
)
"""Files beside the weights of a model of litebert or transformers; names with `/` lie in folders."""
MODEL_FILES: Final = (
    *(*BESIDE_WEIGHTS, "*_litebert.py", "training_args.bin"),
    *("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "pytorch_model.bin.index.json"),
    *("modules.json", "config_sentence_transformers.json", "sentence_*_config.json", "[0-9]_*/config.json"),
)
"""Those of a model directory, from sentence-transformers too."""
TF_FILES: Final = (*BESIDE_WEIGHTS, "albert_config.json", "checkpoint", "*.ckpt*")
"""Those of a TensorFlow checkpoint."""


def is_part_of_a_run(directory: Path) -> bool:
    """Whether it is a directory such as `RUN/model`, which belongs to the run: whatever lies there is replaced."""
    return (directory.parent / RUN_SETTINGS).is_file()


def is_model(directory: Path) -> bool:
    """Whether a directory has the `config.json` of a model that litebert writes or reads."""
    try:
        config = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return CONFIG in _listed(directory)  # damaged, and another model may replace it
    return isinstance(config, dict) and config.get("model_type") in ("albert", LITEBERT_MODEL_TYPE)


def check_replaceable(directory: Path, *, is_own: bool, names: Collection[str] = MODEL_FILES) -> None:
    """Raise CheckpointError unless `directory` is new, empty, or `is_own` without further files.

    Args:
        directory: is to be replaced as a whole.
        is_own: whether it holds what is to be written.
        names: patterns of the files that it may have beside those of its manifest.
    """
    if directory.exists() and not directory.is_dir():
        raise CheckpointError(f"{directory}: is a file; choose another path")
    if not directory.is_dir() or not any(directory.iterdir()):
        return
    if (directory / ".git").exists():
        raise CheckpointError(f"{directory}: is a git repository, which would be deleted; choose another directory")
    other = next(_other_files(directory, names), None if is_own else min(directory.iterdir()))
    if other is not None:
        raise CheckpointError(
            f"{directory}: holds other files, such as {other.relative_to(directory)}, which would be deleted; choose "
            "another directory"
        )


def _other_files(directory: Path, names: Collection[str]) -> Iterator[Path]:
    """The files below `directory` that neither `names` nor its manifest have."""
    listed = _listed(directory)
    for path in directory.rglob("*"):
        relative = path.relative_to(directory)
        if path.is_file() and relative.as_posix() not in listed and not any(_matches(relative, name) for name in names):
            yield path


def _listed(directory: Path) -> Collection[str]:
    """The names in its manifest; none if it is missing or damaged."""
    try:
        return read_manifest(directory)
    except (CheckpointError, OSError):
        return ()


def _matches(path: Path, pattern: str) -> bool:
    """Whether a relative path is one of a pattern, in which `*` ends at `/`; all that lies in a folder, with `/**`."""
    folder, _, name = pattern.partition("/")
    if name == "**":
        return path.parts[0] == folder
    return len(path.parts) == pattern.count("/") + 1 and path.match(pattern)
