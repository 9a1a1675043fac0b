"""Reads the pieces, scores and normalizer of a serialized SentencePiece model, which its Python API does not expose.

`ModelProto` has repeated `pieces` = 1 (piece = 1, score = 2, type = 3), `trainer_spec` = 2 (model_type = 3) and
`normalizer_spec` = 3 (precompiled_charsmap = 2). Source: sentencepiece_model.proto of google/sentencepiece.
"""

import struct
from typing import NamedTuple

from litebert.protobuf_wire import DamagedBytesError, Field, embedded, fields, integer

_NORMAL, _USER_DEFINED = 1, 4
_MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


class ScoredPiece(NamedTuple):
    """A piece and its score; a user-defined piece is always split off, its score has no effect."""

    piece: str
    score: float
    is_normal: bool
    is_user_defined: bool


class ModelFile(NamedTuple):
    """The parts of a SentencePiece model that decide how it splits text; an empty `charsmap` is the identity."""

    pieces: tuple[ScoredPiece, ...]
    charsmap: bytes


def model_type(content: bytes) -> str:
    """How a serialized model splits text: "unigram", "bpe", "word" or "char". Raises DamagedBytesError."""
    trainer_spec = dict(fields(embedded(dict(fields(content)).get(2, b""))))
    number = integer(trainer_spec.get(3, 1))
    if number not in _MODEL_TYPES:
        raise DamagedBytesError(f"model type {number}, which SentencePiece does not have")
    return _MODEL_TYPES[number]


def parse_model(content: bytes) -> ModelFile:
    """The pieces and the normalizer's table of a serialized model. Raises DamagedBytesError."""
    pieces: list[ScoredPiece] = []
    charsmap = b""
    for number, value in fields(content):
        if number == 1:
            pieces.append(_piece(value))
        elif number == 3:
            charsmap = embedded(dict(fields(embedded(value))).get(2, b""))
    return ModelFile(tuple(pieces), charsmap)


def _piece(value: Field) -> ScoredPiece:
    piece = dict(fields(embedded(value)))
    (score,) = struct.unpack("<f", (integer(piece.get(2, 0)) & 0xFFFFFFFF).to_bytes(4, "little"))
    kind = integer(piece.get(3, _NORMAL))
    return ScoredPiece(embedded(piece.get(1, b"")).decode("utf-8"), score, kind == _NORMAL, kind == _USER_DEFINED)
