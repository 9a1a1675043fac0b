import struct

import pytest

from litebert.errors import DataError
from litebert.protobuf_wire import DamagedBytesError, bytes_field, number_field
from litebert.tokenization.normalize import TextSettings
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.sentencepiece_proto import ScoredPiece, model_type, parse_model

GROUP = bytes([15 << 3 | 3, 15 << 3 | 4])
"""A field of the deprecated wire types 3 and 4, which SentencePiece skips as unknown."""


def test_pieces_are_those_of_sentencepiece(numbers):
    assert tuple(piece.piece for piece in parse_model(numbers.model.content).pieces) == numbers.model.vocabulary


def test_pieces_have_their_types_and_scores(numbers):
    pieces = {piece.piece: piece for piece in parse_model(numbers.model.content).pieces}
    assert {name for name, piece in pieces.items() if piece.is_user_defined} == set('()"-.–£€')
    assert not pieces["[CLS]"].is_normal
    assert pieces["▁12,"].is_normal
    assert pieces["▁12,"].score < 0


def test_charsmap_of_the_normalizer_is_read(numbers):
    assert len(parse_model(numbers.model.content).charsmap) > 100_000


def test_unknown_fields_of_every_wire_type_are_skipped():
    integer, double, single = b"\x20\xac\x02", b"\x29" + bytes(8), b"\x35" + bytes(4)
    piece = b"\x0a\x01a\x15" + struct.pack("<f", -1.5)
    content = integer + double + single + b"\x0a" + bytes([len(piece)]) + piece
    assert parse_model(content).pieces == (ScoredPiece("a", -1.5, is_normal=True, is_user_defined=False),)
    assert parse_model(content).charsmap == b""


@pytest.mark.parametrize(
    "content",
    [GROUP, b"\x0b", number_field(1, 7), bytes_field(1, number_field(1, 7)), bytes_field(1, bytes_field(3, b"x"))],
    ids=["group", "group without end", "integer for a piece", "integer for a string", "bytes for a type"],
)
def test_damaged_fields_raise_a_typed_error(content):
    with pytest.raises(DamagedBytesError):
        parse_model(content)


@pytest.mark.parametrize("trainer_spec", [number_field(3, 9), bytes_field(3, b"x")], ids=["unknown type", "bytes"])
def test_model_types_that_do_not_exist_raise_a_typed_error(trainer_spec):
    with pytest.raises(DamagedBytesError):
        model_type(bytes_field(2, trainer_spec))


def test_model_with_an_unknown_group_field_is_refused_by_name(numbers):
    with pytest.raises(DataError, match=r"^x\.model: not a SentencePiece model, or a damaged one"):
        SentencePieceModel(numbers.model.content + GROUP, TextSettings(), where="x.model")


def test_model_with_a_group_field_in_a_piece_is_refused_by_name(numbers):
    piece = bytes_field(1, b"a new piece") + GROUP
    model = SentencePieceModel(numbers.model.content + bytes_field(1, piece), TextSettings(), where="x.model")
    with pytest.raises(DataError, match=r"^x\.model: a damaged SentencePiece model"):
        model.transformers_tokenizer()
