"""Reads and writes TensorFlow checkpoints (tensor bundles) as named numpy arrays, without TensorFlow.

A checkpoint `model.ckpt` is `model.ckpt.index`, a table from tensor names to entries, and data files
`model.ckpt.data-00000-of-00001`, … Every block of the index and every tensor has a CRC-32C; all are verified.
Source: `tensorflow/core/protobuf/tensor_bundle.proto`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from litebert.errors import CheckpointError
from litebert.files import write_bytes
from litebert.interop.sstable import masked_crc, read_table, write_table
from litebert.protobuf_wire import (
    DamagedBytesError,
    bytes_field,
    embedded,
    fields,
    fixed32_field,
    integer,
    number_field,
)

HEADER_KEY = b""
# TensorFlow's numbers of dtypes (`types.proto`).
_NUMBERS = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2", 19: "<f2"}
DTYPES = {number: np.dtype(name) for number, name in {**_NUMBERS, 22: "<u4", 23: "<u8"}.items()}
# numpy has no bfloat16: its 16 bits are the upper half of a float32.
_BFLOAT16 = 14
_LITTLE_ENDIAN = 0
# Version of the format since 2016.
_PRODUCER = 1


@dataclass(frozen=True)
class Entry:
    """Dtype, shape, location and checksum of a tensor."""

    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc: int
    sliced: bool

    @property
    def num_bytes(self) -> int | None:
        """Size of a tensor of this dtype and shape; None for an unsupported dtype."""
        width = 2 if self.dtype == _BFLOAT16 else DTYPES[self.dtype].itemsize if self.dtype in DTYPES else None
        return None if width is None else math.prod(self.shape) * width


@dataclass(frozen=True)
class Bundle:
    """An open checkpoint: the index in memory, the tensors on disk."""

    prefix: Path
    num_shards: int
    entries: Mapping[str, Entry]

    def read(self, name: str) -> np.ndarray:
        """One tensor; raises CheckpointError, naming the file, if its checksum is wrong."""
        entry = self.entries[name]
        self._validate_supported(name, entry)
        path = _data_file(self.prefix, entry.shard, of=self.num_shards)
        content = _read_part(path, entry.offset, entry.size)
        if len(content) != entry.size or masked_crc(content) != entry.crc:
            raise CheckpointError(
                f"{path}: damaged: tensor {name!r} has another size or checksum than the index says; take a fresh copy"
            )
        return _decode(content, entry)

    def _validate_supported(self, name: str, entry: Entry) -> None:
        problems = {
            "stored in slices, which is not supported; save it unpartitioned": entry.sliced,
            f"has TensorFlow dtype {entry.dtype}, which is not supported; convert it first": entry.num_bytes is None,
            f"shape {entry.shape} in shard {entry.shard} with {entry.size} bytes is inconsistent; take a fresh copy": (
                entry.num_bytes != entry.size or entry.shard >= self.num_shards
            ),
        }
        for problem, applies in problems.items():
            if applies:
                raise CheckpointError(f"{index_file(self.prefix)}: tensor {name!r}: {problem}")


def open_bundle(path: Path) -> Bundle:
    """The checkpoint at a prefix (`model.ckpt-best`), at its `.index` file, or the only one of a directory."""
    prefix = prefix_of(path)
    index = index_file(prefix)
    try:
        return Bundle(prefix, *read_index(index.read_bytes()))
    except FileNotFoundError:
        raise CheckpointError(f"{index}: no such file; give the prefix of a TensorFlow checkpoint") from None
    except DamagedBytesError as error:
        raise CheckpointError(f"{index}: damaged: {error}; take a fresh copy") from None


def read_index(content: bytes) -> tuple[int, dict[str, Entry]]:
    """Number of data files, and the entry of each tensor; raises DamagedBytesError."""
    table = read_table(content)
    if HEADER_KEY not in table:
        raise DamagedBytesError("no header")
    header = dict(fields(table.pop(HEADER_KEY)))
    num_shards = integer(header.get(1, 0))
    if integer(header.get(2, 0)) != _LITTLE_ENDIAN:
        raise DamagedBytesError("written on a big-endian machine, which is not supported")
    if not 0 < num_shards < 100_000:
        raise DamagedBytesError(f"claims {num_shards} data files")
    try:
        return num_shards, {key.decode("utf-8"): _read_entry(value) for key, value in table.items()}
    except UnicodeDecodeError:
        raise DamagedBytesError("a name that is not UTF-8") from None


def write_bundle(prefix: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write `prefix.index` and one data file; the data first, so that an index never refers to missing data."""
    table = {HEADER_KEY: number_field(1, 1) + bytes_field(3, number_field(1, _PRODUCER))}
    content = bytearray()
    for name in sorted(tensors, key=str.encode):
        array = tensors[name]
        raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        table[name.encode()] = _write_entry(array, offset=len(content), size=len(raw), crc=masked_crc(raw))
        content += raw
    write_bytes(_data_file(prefix, 0, of=1), bytes(content))
    write_bytes(index_file(prefix), write_table(table))


def index_file(prefix: Path) -> Path:
    """Path of the index of a checkpoint."""
    return prefix.with_name(prefix.name + ".index")


def _data_file(prefix: Path, shard: int, *, of: int) -> Path:
    return prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{of:05d}")


def prefix_of(path: Path) -> Path:
    """The prefix of the names of the files of a checkpoint, given as prefix, `.index` file or directory."""
    if path.suffix == ".index":
        return path.with_suffix("")
    if not path.is_dir():
        return path
    found = sorted(path.glob("*.index"))
    if len(found) != 1:
        raise CheckpointError(f"{path}: holds {len(found)} TensorFlow checkpoints, expected one; name its .index file")
    return found[0].with_suffix("")


def _read_entry(content: bytes) -> Entry:
    entry = dict(fields(content))
    sizes = (dict(fields(embedded(value))) for key, value in fields(embedded(entry.get(2, b""))) if key == 2)
    dimensions = tuple(integer(size.get(1, 0)) for size in sizes)
    if max(dimensions, default=0) >= 2**40:
        raise DamagedBytesError(f"a dimension of {max(dimensions)}")
    dtype, shard, offset, size, crc = (integer(entry.get(number, 0)) for number in (1, 3, 4, 5, 6))
    return Entry(dtype, dimensions, shard, offset, size, crc, sliced=7 in entry)


def _write_entry(array: np.ndarray, *, offset: int, size: int, crc: int) -> bytes:
    dtype = next((number for number, dtype in DTYPES.items() if dtype == array.dtype.newbyteorder("<")), None)
    if dtype is None:
        raise CheckpointError(f"a TensorFlow checkpoint cannot hold {array.dtype}; convert it to float32 first")
    shape = b"".join(bytes_field(2, number_field(1, dimension)) for dimension in array.shape)
    location = number_field(4, offset) + number_field(5, size) + fixed32_field(6, crc)
    return number_field(1, dtype) + bytes_field(2, shape) + location


def _read_part(path: Path, offset: int, size: int) -> bytes:
    """`size` bytes from `offset`, or none if the file is shorter, so that a malformed size allocates nothing."""
    try:
        with path.open("rb") as file:
            if offset + size > file.seek(0, 2):
                return b""
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing, but the index lists it; take a fresh copy") from None


def _decode(content: bytes, entry: Entry) -> np.ndarray:
    if entry.dtype == _BFLOAT16:
        upper = np.frombuffer(content, dtype="<u2").astype(np.uint32)
        return (upper << 16).view(np.float32).reshape(entry.shape)
    return np.frombuffer(content, dtype=DTYPES[entry.dtype]).reshape(entry.shape).copy()
