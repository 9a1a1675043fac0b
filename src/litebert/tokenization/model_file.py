"""Reads what SentencePiece keeps to itself from a serialized model. After: `transformers_files.py` writes it down.

The file is a protocol buffer: `ModelProto` with repeated `pieces` = 1 (piece = 1, score = 2, type = 3) and
`normalizer_spec` = 3 (precompiled_charsmap = 2). Source: sentencepiece_model.proto of google/sentencepiece.
The model was loaded by SentencePiece before it comes here, so it is well formed.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_NORMAL, _USER_DEFINED = 1, 4


@dataclass(frozen=True)
class ScoredPiece:
    """A piece with its score; a user-defined piece is always split off, its stored score means nothing."""

    piece: str
    score: float
    is_normal: bool
    is_user_defined: bool


@dataclass(frozen=True)
class ModelFile:
    """The parts of a SentencePiece model that decide how it splits text."""

    pieces: tuple[ScoredPiece, ...]
    charsmap: bytes
    """Compiled table of SentencePiece's own normaliser; empty for the identity."""


def parse_model(content: bytes) -> ModelFile:
    """The pieces and the normaliser's table of a serialized model."""
    pieces: list[ScoredPiece] = []
    charsmap = b""
    for field, value in _fields(content):
        if field == 1:
            pieces.append(_piece(value))
        elif field == 3:
            charsmap = dict(_fields(value)).get(2, b"")
    return ModelFile(tuple(pieces), charsmap)


def _piece(content: bytes) -> ScoredPiece:
    fields = dict(_fields(content))
    kind = fields.get(3, _NORMAL)
    (score,) = struct.unpack("<f", fields.get(2, bytes(4)))
    return ScoredPiece(fields[1].decode("utf-8"), score, kind == _NORMAL, kind == _USER_DEFINED)


def _fields(content: bytes) -> Iterator[tuple[int, "bytes | int"]]:
    """Number and value of each field of a message."""
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(content, position)
        else:
            size, position = (
                _varint(content, position) if kind == _BYTES else ({_FIXED_32: 4, _FIXED_64: 8}[kind], position)
            )
            value, position = content[position : position + size], position + size
        yield key >> 3, value


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and the position behind it."""
    value = shift = 0
    while True:
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
