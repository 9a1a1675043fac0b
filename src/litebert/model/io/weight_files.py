"""Reads and writes weight files: safetensors, sharded safetensors, and pickles (read only).

No file is ever executed: pickles are read with `weights_only=True`.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from litebert.errors import CheckpointError, ConfigError
from litebert.files import write_bytes
from litebert.model.io.model_spec import SavedDtype

SAFETENSORS: Final = "model.safetensors"
SHARDED: Final = "model.safetensors.index.json"
PICKLE: Final = "pytorch_model.bin"
OWN: Final = "litebert.safetensors"
"""Weights under litebert's names; another file name, so that transformers does not try to load them."""

logger = logging.getLogger(__name__)


def has_weights(directory: Path) -> bool:
    """Whether a directory holds weights in a supported format."""
    return any((directory / name).is_file() for name in _READERS)


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Every tensor of a model directory, on the CPU; raises CheckpointError if there is none or a file is damaged."""
    for name, read in _READERS.items():
        if (directory / name).is_file():
            return read(directory / name)
    if any(directory.glob("onnx/*.onnx")):
        raise CheckpointError(
            f"{directory}: a directory of `litebert export`, which only `litebert predict`, `litebert evaluate` on "
            "labelled data, `litebert serve --runtime onnx` and litebert.runtime read; give the model that was exported"
        )
    raise CheckpointError(f"{directory}: no weights; expected {' or '.join(_READERS)}; take a complete copy")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file; the tensors may be on any device and share memory."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_bytes(path, save(plain, metadata={"format": "pt"}))


def in_dtype(tensors: Mapping[str, Tensor], dtype: str) -> dict[str, Tensor]:
    """The tensors in one of `SavedDtype`; raises ConfigError for another dtype, and for a number beyond its range."""
    if dtype not in get_args(SavedDtype):
        raise ConfigError(f"dtype: {dtype!r} is unknown; expected one of {', '.join(get_args(SavedDtype))}")
    result = {name: tensor.detach().to(getattr(torch, dtype)) for name, tensor in tensors.items()}
    for name, tensor in result.items():
        overflow = tensors[name].detach()[tensor.isinf() & tensors[name].isfinite()]
        if len(overflow):
            raise ConfigError(
                f"dtype: {name} has the number {overflow[0].item():g}, {dtype} ends at "
                f"{torch.finfo(tensor.dtype).max:g}; choose a dtype with a larger range, such as float32"
            )
    return result


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; take a complete copy") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a complete safetensors file ({error}); take a fresh copy") from None


def _read_shards(path: Path) -> dict[str, Tensor]:
    try:
        weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        shards = sorted(set(weight_map.values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(f"{path}: not an index of safetensors files; take a fresh copy") from None
    if any(not isinstance(shard, str) or Path(shard).name != shard for shard in shards):
        raise CheckpointError(f"{path}: names files outside its directory; take a fresh copy")
    tensors = {name: tensor for shard in shards for name, tensor in read_safetensors(path.parent / shard).items()}
    absent = sorted(set(weight_map) - set(tensors))
    if absent:
        raise CheckpointError(f"{path}: lists {absent[0]!r}, which is in no file; take a fresh copy")
    return tensors


def _read_pickle(path: Path) -> dict[str, Tensor]:
    logger.warning("%s: reading a pickle; `litebert convert` writes safetensors, which are safer and faster", path)
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # malformed bytes make the unpickler raise arbitrary errors
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{path}: not a plain file of tensors ({reason}); use safetensors") from None
    if not isinstance(tensors, Mapping) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise CheckpointError(f"{path}: holds other objects than named tensors; use safetensors")
    return {str(name): tensor for name, tensor in tensors.items()}


_READERS: Final = {
    OWN: read_safetensors,
    SAFETENSORS: read_safetensors,
    SHARDED: _read_shards,
    PICKLE: _read_pickle,
}
