"""Reads and writes SSTables (sorted tables of keys and values) as LevelDB and TensorFlow do.

A table is a sequence of blocks, an index block and a footer. Inside a block each key omits the prefix that it shares
with the previous key; every block ends with a byte for the compression and a masked CRC-32C.
Source: `table_format.txt` of LevelDB; the constants are TensorFlow's (`tensorflow/core/lib/io/table_options.h`).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

import google_crc32c

from litebert.protobuf_wire import DamagedBytesError, read_bytes, read_varint, varint

MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
FOOTER_SIZE = 48
BLOCK_SIZE = 262_144
RESTART_INTERVAL = 16
# Far above any checkpoint; they bound the memory that a malformed file can allocate.
MAX_KEY_BYTES = 4_096
MAX_ENTRIES = 100_000

_TRAILER_SIZE = 5
_COMPRESSION = {0: "none", 1: "snappy"}


def masked_crc(content: bytes) -> int:
    """Masked CRC-32C of LevelDB: rotated and offset, so that a CRC over data with CRCs stays meaningful."""
    crc = google_crc32c.value(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_table(content: bytes) -> dict[bytes, bytes]:
    """Every key and value, in order; raises DamagedBytesError unless every checksum is correct."""
    if len(content) < FOOTER_SIZE or content[-8:] != MAGIC:
        raise DamagedBytesError("no table footer at the end: not a table, or cut short")
    footer = content[-FOOTER_SIZE:-8]
    metaindex, at = _handle(footer, 0)
    index, at = _handle(footer, at)
    if any(footer[at:]):
        raise DamagedBytesError("the footer holds more than two handles")
    _block(content, *metaindex)  # empty in a checkpoint, but read to verify its checksum
    table: dict[bytes, bytes] = {}
    last = None
    for _, handle in _entries(_block(content, *index)):
        for key, value in _entries(_block(content, *_handle(handle, 0)[0])):
            if last is not None and key <= last:
                raise DamagedBytesError(f"key {key!r} comes after {last!r}")
            if len(table) == MAX_ENTRIES:
                raise DamagedBytesError(f"more than {MAX_ENTRIES} keys")
            table[key] = value
            last = key
    return table


def write_table(entries: Mapping[bytes, bytes]) -> bytes:
    """The bytes of a table, equal to those that TensorFlow writes."""
    blocks = list(_blocks(sorted(entries.items()), interval=RESTART_INTERVAL))
    next_keys = [first for first, _, _ in blocks[1:]]
    result = bytearray()
    index = [
        (_separator(last, following), _append(result, content))
        for (_, last, content), following in zip(blocks, [*next_keys, None], strict=True)
    ]
    handles = _append(result, _with_restarts(b"", [0]))
    handles += _append(result, b"".join(content for _, _, content in _blocks(index, interval=1)))
    return bytes(result) + handles.ljust(FOOTER_SIZE - len(MAGIC), b"\0") + MAGIC


def _handle(content: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = read_varint(content, at)
    size, at = read_varint(content, at)
    return (offset, size), at


def _block(content: bytes, offset: int, size: int) -> bytes:
    body = read_bytes(content, offset, size + _TRAILER_SIZE)
    stated = int.from_bytes(body[-4:], "little")
    if masked_crc(body[:-4]) != stated:
        raise DamagedBytesError(f"the block at byte {offset} has another checksum")
    if body[size]:
        name = _COMPRESSION.get(body[size], f"number {body[size]}")
        raise DamagedBytesError(f"the block at byte {offset} is compressed ({name}), which is not supported")
    return body[:size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = int.from_bytes(read_bytes(block, max(len(block) - 4, 0), 4), "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise DamagedBytesError(f"a block of {len(block)} bytes claims {restarts} restart points")
    key, at = b"", 0
    while at < end:
        shared, at = read_varint(block, at)
        own, at = read_varint(block, at)
        size, at = read_varint(block, at)
        if shared > len(key) or shared + own > MAX_KEY_BYTES or at + own + size > end:
            raise DamagedBytesError(f"a key or value at byte {at} exceeds its block")
        key = key[:shared] + block[at : at + own]
        at += own + size
        yield key, block[at - size : at]


def _blocks(entries: Iterable[tuple[bytes, bytes]], *, interval: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """First key, last key and content of each block; a block ends with the entry that reaches `BLOCK_SIZE`.

    In a block every `interval`-th entry, a restart point, has a complete key. There is at least one block.
    """
    first, last, body, restarts, size = b"", b"", bytearray(), [0], 0
    for key, value in entries:
        if len(body) + 4 * (len(restarts) + 1) >= BLOCK_SIZE:
            yield first, last, _with_restarts(body, restarts)
            last, body, restarts, size = b"", bytearray(), [0], 0
        first, shared = (first, _common(last, key)) if size else (key, 0)
        if size and size % interval == 0:
            restarts.append(len(body))
            shared = 0
        body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last, size = key, size + 1
    yield first, last, _with_restarts(body, restarts)


def _with_restarts(body: bytes | bytearray, restarts: list[int]) -> bytes:
    return bytes(body) + b"".join(number.to_bytes(4, "little") for number in (*restarts, len(restarts)))


def _append(result: bytearray, content: bytes) -> bytes:
    """Append a block to `result` and return its handle."""
    handle = varint(len(result)) + varint(len(content))
    result += content + b"\0" + masked_crc(content + b"\0").to_bytes(4, "little")
    return handle


def _separator(last: bytes, following: bytes | None) -> bytes:
    """A short key in [last, following); `following` None: the last block."""
    if following is None:
        at = next((n for n, byte in enumerate(last) if byte != 0xFF), len(last))
    else:
        at = _common(last, following)
        if at >= min(len(last), len(following)) or last[at] + 1 >= following[at]:
            return last
    return last[:at] + bytes(byte + 1 for byte in last[at : at + 1])


def _common(first: bytes, second: bytes) -> int:
    """Length of the longest common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
