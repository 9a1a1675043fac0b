"""Tensors in files: safetensors, sharded safetensors, and pickles of old. Before: a directory. After: `directory.py`.

Nothing in a file is ever executed: pickles go through the restricted reader of torch, which only knows tensors.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from litebert.errors import CheckpointError
from litebert.files import write_bytes

SAFETENSORS: Final = "model.safetensors"
SHARDED: Final = "model.safetensors.index.json"
PICKLE: Final = "pytorch_model.bin"
OWN: Final = "litebert.safetensors"
"""Weights under our own names: another file name, so that no other program takes them for its own."""

log = logging.getLogger(__name__)


def has_weights(directory: Path) -> bool:
    """Whether a directory holds weights in any form that can be read."""
    return any((directory / name).is_file() for name in _READERS)


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """Every tensor of a model directory, on the CPU; raises CheckpointError, naming the file, for anything else."""
    for name, read in _READERS.items():
        if (directory / name).is_file():
            return read(directory / name)
    raise CheckpointError(f"{directory}: no weights; expected {' or '.join(_READERS)}; take a complete copy")


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file; the tensors may lie on any device and share memory."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_bytes(path, save(plain, metadata={"format": "pt"}))


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; take a complete copy") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a whole safetensors file ({error}); take a fresh copy") from None


def _read_shards(path: Path) -> dict[str, Tensor]:
    try:
        places = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        shards = sorted(set(places.values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(f"{path}: not an index of safetensors files; take a fresh copy") from None
    if any(not isinstance(shard, str) or Path(shard).name != shard for shard in shards):
        raise CheckpointError(f"{path}: names files outside its directory; take a fresh copy")
    tensors = {name: tensor for shard in shards for name, tensor in read_safetensors(path.parent / shard).items()}
    absent = sorted(set(places) - set(tensors))
    if absent:
        raise CheckpointError(f"{path}: lists {absent[0]!r}, which no file holds; take a fresh copy")
    return tensors


def _read_pickle(path: Path) -> dict[str, Tensor]:
    log.warning("%s: reading an old pickle; `litebert convert` writes safetensors, which are safer and faster", path)
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # forged bytes make the restricted reader fail in every way there is
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"{path}: refused, not a plain file of tensors ({reason}); use safetensors") from None
    if not isinstance(tensors, Mapping) or not all(isinstance(value, Tensor) for value in tensors.values()):
        raise CheckpointError(f"{path}: holds something else than named tensors; use safetensors")
    return {str(name): tensor for name, tensor in tensors.items()}


_READERS: Final = {
    OWN: read_safetensors,
    SAFETENSORS: read_safetensors,
    SHARDED: _read_shards,
    PICKLE: _read_pickle,
}
