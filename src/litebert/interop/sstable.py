"""Reads and writes SSTables (sorted tables of keys and values) as LevelDB and TensorFlow do.

A table is a sequence of blocks, an index block and a footer. Inside a block each key omits the prefix that it shares
with the previous key; every block ends with a byte for the compression and a masked CRC-32C.
Source: `table_format.txt` of LevelDB; the constants are TensorFlow's (`tensorflow/core/lib/io/table_options.h`).
"""

from collections.abc import Iterator, Mapping

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
    blocks = _blocks(sorted(entries.items()))
    next_keys = [block.first for block in blocks[1:]]
    result, index = bytearray(), _Block(interval=1)
    for block, following in zip(blocks, [*next_keys, None], strict=True):
        index.add(_separator(block.last, following), _append(result, block))
    handles = _append(result, _Block(interval=RESTART_INTERVAL)) + _append(result, index)
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


class _Block:
    """A block under construction; every `interval` entries a restart point has a complete key."""

    def __init__(self, *, interval: int) -> None:
        self.interval = interval
        self.first = self.last = b""
        self._body, self._restarts, self._entries = bytearray(), [0], 0

    def add(self, key: bytes, value: bytes) -> None:
        shared = _common(self.last, key)
        if self._entries == 0:
            self.first, shared = key, 0
        elif self._entries % self.interval == 0:
            self._restarts.append(len(self._body))
            shared = 0
        self._body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self._entries += 1
        self.last = key

    @property
    def size(self) -> int:
        return len(self._body) + 4 * (len(self._restarts) + 1)

    def encoded(self) -> bytes:
        numbers = [*self._restarts, len(self._restarts)]
        return bytes(self._body) + b"".join(number.to_bytes(4, "little") for number in numbers)


def _blocks(entries: list[tuple[bytes, bytes]]) -> list[_Block]:
    """All entries in blocks; a block ends with the entry that reaches the block size."""
    blocks = [_Block(interval=RESTART_INTERVAL)]
    for key, value in entries:
        if blocks[-1].size >= BLOCK_SIZE:
            blocks.append(_Block(interval=RESTART_INTERVAL))
        blocks[-1].add(key, value)
    return blocks


def _append(result: bytearray, block: _Block) -> bytes:
    """Append a block to `result` and return its handle."""
    content = block.encoded()
    handle = varint(len(result)) + varint(len(content))
    result += content + b"\0" + masked_crc(content + b"\0").to_bytes(4, "little")
    return handle


def _separator(last: bytes, following: bytes | None) -> bytes:
    """A short key in [last, following); `following` None: the last block."""
    if following is None:
        at = next((n for n, byte in enumerate(last) if byte != 0xFF), None)
        return last if at is None else last[:at] + bytes([last[at] + 1])
    at = _common(last, following)
    if at < min(len(last), len(following)) and last[at] + 1 < following[at]:
        return last[:at] + bytes([last[at] + 1])
    return last


def _common(first: bytes, second: bytes) -> int:
    """Length of the longest common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(first), len(second)))
