"""The integers and tagged fields that TensorFlow's files are made of. Before: bytes. After: `table`, `bundle`.

Written by hand because the few messages of a checkpoint index need ten lines and the protobuf packages conflict.
Source: the encoding page of Protocol Buffers.
"""

from collections.abc import Iterator


class DamagedBytesError(ValueError):
    """Bytes that are not what the format says. Never leaves the room: `bundle` names the file and what to do."""


Field = int | bytes

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """The unsigned integer at `at` and the position after it."""
    value = 0
    for index, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise DamagedBytesError(f"no whole number at byte {at}")


def varint(value: int) -> bytes:
    """The encoding of an unsigned integer."""
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def take(content: bytes, at: int, size: int) -> bytes:
    """Exactly `size` bytes from `at`."""
    if at + size > len(content):
        raise DamagedBytesError(f"{size} bytes expected at byte {at}, the end comes at {len(content)}")
    return content[at : at + size]


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Number and value of each field of a message, in order; embedded messages stay bytes."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        value, at = _value(message, at, kind=tag & 7)
        yield tag >> 3, value


def number_field(number: int, value: int) -> bytes:
    """An integer field; empty for 0, which is the default of every field."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """A string or an embedded message, written even if empty."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def fixed32_field(number: int, value: int) -> bytes:
    """A field of four bytes; empty for 0."""
    return varint(number << 3 | FIXED_32) + value.to_bytes(4, "little") if value else b""


def _value(message: bytes, at: int, *, kind: int) -> tuple[Field, int]:
    if kind == VARINT:
        return read_varint(message, at)
    if kind == BYTES:
        size, at = read_varint(message, at)
        return take(message, at, size), at + size
    if kind in (FIXED_32, FIXED_64):
        size = 4 if kind == FIXED_32 else 8
        return int.from_bytes(take(message, at, size), "little"), at + size
    raise DamagedBytesError(f"unknown kind of field {kind} at byte {at}")
