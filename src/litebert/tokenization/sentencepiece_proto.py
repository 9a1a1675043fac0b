"""Reads what SentencePiece keeps to itself from a serialized model. After: `transformers_files.py` writes it down.

The file is a protocol buffer: `ModelProto` with repeated `pieces` = 1 (piece = 1, score = 2, type = 3),
`trainer_spec` = 2 (model_type = 3) and `normalizer_spec` = 3 (precompiled_charsmap = 2).
Source: sentencepiece_model.proto of google/sentencepiece.
The model was loaded by SentencePiece before it comes here, so it is well formed.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_NORMAL, _USER_DEFINED = 1, 4
_MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


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


def model_type(content: bytes) -> str:
    """How a serialized model splits text: "unigram", "bpe", "word" or "char"."""
    trainer = dict(_fields(dict(_fields(content)).get(2, b"")))
    (number,) = trainer.get(3, b"\x01")
    return _MODEL_TYPES[number]


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
    (score,) = struct.unpack("<f", fields.get(2, bytes(4)))
    (kind,) = fields.get(3, bytes([_NORMAL]))
    return ScoredPiece(fields[1].decode("utf-8"), score, kind == _NORMAL, kind == _USER_DEFINED)


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and value of each field of a message; an integer is given as the bytes that stand in the file."""
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        start = position
        match key & 7:
            case 0:
                _, end = _varint(content, position)
            case 1:
                end = position + 8
            case 5:
                end = position + 4
            case _:
                size, start = _varint(content, position)
                end = start + size
        yield key >> 3, content[start:end]
        position = end


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and the position behind it."""
    value = shift = 0
    while True:
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
