"""The wire format of Protocol Buffers: integers and tagged fields, for TensorFlow checkpoints and SentencePiece models.

Written by hand because the few messages that are read need ten lines each and the protobuf packages conflict.
Source: the encoding page of the Protocol Buffers documentation.
"""

from collections.abc import Iterator


class DamagedBytesError(ValueError):
    """Bytes that violate the format. Callers turn it into an error that names the file."""


Field = int | bytes

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
FIXED_SIZES = {FIXED_64: 8, FIXED_32: 4}
_MAX_VARINT_BYTES = 10


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """The unsigned integer at position `at`, and the position after it."""
    value = 0
    for index, byte in enumerate(content[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise DamagedBytesError(f"no complete integer at byte {at}")


def varint(value: int) -> bytes:
    """The encoding of an unsigned integer."""
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def read_bytes(content: bytes, at: int, size: int) -> bytes:
    """Exactly `size` bytes from `at`."""
    if at + size > len(content):
        raise DamagedBytesError(f"{size} bytes expected at byte {at}, the content ends at {len(content)}")
    return content[at : at + size]


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Number and value of each field of a message, in order; embedded messages are bytes, fixed fields integers."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        value, at = _value(message, at, wire_type=tag & 7)
        yield tag >> 3, value


def integer(value: Field) -> int:
    """The value of an integer field."""
    if isinstance(value, bytes):
        raise DamagedBytesError(f"a field holds {len(value)} bytes instead of an integer")
    return value


def embedded(value: Field) -> bytes:
    """The value of a string or of an embedded message."""
    if not isinstance(value, bytes):
        raise DamagedBytesError(f"a field holds the integer {value} instead of bytes")
    return value


def number_field(number: int, value: int) -> bytes:
    """An integer field; empty for 0, which is the default of every field."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """A string or an embedded message, written even if empty."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def fixed32_field(number: int, value: int) -> bytes:
    """A field of four bytes; empty for 0."""
    return varint(number << 3 | FIXED_32) + value.to_bytes(4, "little") if value else b""


def _value(message: bytes, at: int, *, wire_type: int) -> tuple[Field, int]:
    if wire_type == VARINT:
        return read_varint(message, at)
    if wire_type == BYTES:
        size, at = read_varint(message, at)
        return read_bytes(message, at, size), at + size
    if size := FIXED_SIZES.get(wire_type):
        return int.from_bytes(read_bytes(message, at, size), "little"), at + size
    raise DamagedBytesError(f"wire type {wire_type} at byte {at}, which is not supported")
