"""Reads and writes pieces, scores and normalizer of a serialized SentencePiece model; its Python API does neither.

`ModelProto` has repeated `pieces` = 1 (piece = 1, score = 2, type = 3), `trainer_spec` = 2 (model_type = 3) and
`normalizer_spec` = 3 (name = 1, precompiled_charsmap = 2). Source: sentencepiece_model.proto of google/sentencepiece.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from litebert.protobuf_wire import (
    FIXED_32,
    DamagedBytesError,
    Field,
    bytes_field,
    embedded,
    fields,
    integer,
    number_field,
    varint,
)

CHARACTER_COVERAGE = 0.99995
"""With which google-research/albert trains, and litebert by default; a model records it."""
MAX_SENTENCE_BYTES = 2**30
"""With which litebert trains: SentencePiece silently skips longer lines; its default is 4192."""

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
_MINUS_ONE = 2**64 - 1
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


def serialize_model(model: ModelFile, *, unk: str, pad: str) -> bytes:
    """A serialized unigram model.

    Its bytes are those of a model that `train_tokenizer` trained with the default `character_coverage`. Of others the
    settings of the training are unknown, which have no effect on ids.
    """
    normalizer_spec = bytes_field(1, b"nmt_nfkc") + bytes_field(2, model.charsmap)
    return (
        b"".join(bytes_field(1, _piece_message(piece, unk=unk)) for piece in model.pieces)
        + bytes_field(2, _trainer_spec(model.pieces, unk=unk, pad=pad))
        + bytes_field(3, normalizer_spec)
    )


def _piece_message(piece: ScoredPiece, *, unk: str) -> bytes:
    kind = _UNKNOWN if piece.piece == unk else _USER_DEFINED if piece.is_user_defined else _CONTROL
    return (
        bytes_field(1, piece.piece.encode())
        + _float_field(2, piece.score)
        + (b"" if piece.is_normal else number_field(3, kind))
    )


def _trainer_spec(pieces: Sequence[ScoredPiece], *, unk: str, pad: str) -> bytes:
    """What SentencePiece records of the arguments in `vocabulary_training.py`, in the order of their numbers."""
    names = [piece.piece for piece in pieces]
    controls = [piece.piece for piece in pieces if not (piece.is_normal or piece.is_user_defined)]
    symbols = [piece.piece for piece in pieces if piece.is_user_defined]
    return b"".join(
        (
            number_field(3, 1),  # model_type
            number_field(4, len(pieces)),  # vocab_size
            _float_field(10, CHARACTER_COVERAGE),
            number_field(16, 1),  # num_threads
            number_field(18, MAX_SENTENCE_BYTES),
            *(bytes_field(30, piece.encode()) for piece in controls if piece not in (unk, pad)),
            *(bytes_field(31, piece.encode()) for piece in symbols),
            number_field(40, names.index(unk)),
            number_field(41, _MINUS_ONE),  # no piece for the beginning
            number_field(42, _MINUS_ONE),  # nor for the end
            varint(43 << 3) + varint(names.index(pad)),
            bytes_field(45, unk.encode()),
            bytes_field(48, pad.encode()),
        )
    )


def _float_field(number: int, value: float) -> bytes:
    """A field of a 32-bit float, written even if 0."""
    return varint(number << 3 | FIXED_32) + struct.pack("<f", value)


def _piece(value: Field) -> ScoredPiece:
    piece = dict(fields(embedded(value)))
    (score,) = struct.unpack("<f", (integer(piece.get(2, 0)) & 0xFFFFFFFF).to_bytes(4, "little"))
    kind = integer(piece.get(3, _NORMAL))
    return ScoredPiece(embedded(piece.get(1, b"")).decode("utf-8"), score, kind == _NORMAL, kind == _USER_DEFINED)
