"""How a directory of sentence-transformers makes a vector of a text. Torch-free."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from litebert.errors import CheckpointError, ConfigError

MODULES: Final = "modules.json"
"""The file that makes a model directory one of sentence-transformers."""
LENGTH_FILES: Final = {
    "sentence_bert_config.json": "max_seq_length",
    "sentence_albert_config.json": "max_seq_length",
    "tokenizer_config.json": "model_max_length",
}
"""File → key of the longest input; the last one since sentence-transformers 6, which leaves it out of the first."""
_SUPPORTED: Final = ("Transformer", "Pooling", "Normalize")
_MODE_KEYS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Key of a version before 6 → what is `pooling_mode` since then."""


def sentence_transformers_settings(directory: Path, *, positions: int) -> dict[str, Any]:
    """`pooling` and `max_length` of a directory of sentence-transformers, as fields of `ModelSpec`; none for others.

    `max_length` is None unless it is less than the positions of the model. Raises ConfigError for a pooling or a module
    that litebert does not compute.
    """
    file = directory / MODULES
    if not file.is_file():
        return {}
    lengths = [_read(directory / name).get(key) for name, key in LENGTH_FILES.items() if (directory / name).is_file()]
    max_length = next((each for each in lengths if each), positions)
    return {
        "pooling": _pooling(directory, _modules(file)),
        "max_length": max_length if max_length < positions else None,
    }


def _modules(file: Path) -> Mapping[str, str]:
    """Class → folder of each module."""
    listed = _read(file, kind=list)
    try:
        modules = {each["type"].rpartition(".")[2]: each["path"] for each in listed}
    except (TypeError, KeyError, AttributeError):
        raise CheckpointError(f"{file}: no list of modules of sentence-transformers; take a fresh copy") from None
    unknown = [name for name in modules if name not in _SUPPORTED]
    if unknown:
        raise ConfigError(
            f"{file}: has a module {unknown[0]}, expected {', '.join(_SUPPORTED)} only; use sentence-transformers, or "
            "delete the file to use the encoder alone"
        )
    return modules


def _pooling(directory: Path, modules: Mapping[str, str]) -> str:
    """The pooling of the module for it; `mean` if there is none."""
    if "Pooling" not in modules:
        return "mean"
    file = directory / modules["Pooling"] / "config.json"
    config = _read(file)
    given = config.get("pooling_mode", [mode for key, mode in _MODE_KEYS.items() if config.get(key)] or "mean")
    modes = [given] if isinstance(given, str) else given
    if modes not in (["mean"], ["cls"]):
        raise ConfigError(
            f"{file}: pooling is {' and '.join(map(str, modes))}, expected mean or cls; use sentence-transformers, or "
            f"delete {MODULES} to use the encoder alone"
        )
    return modes[0]


def _read(file: Path, *, kind: type = dict) -> Any:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file}: missing or not JSON ({error}); take a fresh copy") from None
    if not isinstance(value, kind):
        raise CheckpointError(f"{file}: holds {type(value).__name__}, expected a {kind.__name__}; take a fresh copy")
    return value
