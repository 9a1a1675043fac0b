import struct

from litebert.tokenization.sentencepiece_proto import ScoredPiece, parse_model


def test_pieces_are_those_of_sentencepiece(numbers):
    assert tuple(piece.piece for piece in parse_model(numbers.model.content).pieces) == numbers.model.vocabulary


def test_kinds_of_pieces_are_told_apart(numbers):
    pieces = {piece.piece: piece for piece in parse_model(numbers.model.content).pieces}
    assert {name for name, piece in pieces.items() if piece.is_user_defined} == set('()"-.–£€')
    assert not pieces["[CLS]"].is_normal
    assert pieces["▁12,"].is_normal
    assert pieces["▁12,"].score < 0


def test_the_table_of_the_normaliser_is_there(numbers):
    assert len(parse_model(numbers.model.content).charsmap) > 100_000


def test_fields_of_every_wire_type_are_passed_over():
    integer, double, single = b"\x20\xac\x02", b"\x29" + bytes(8), b"\x35" + bytes(4)
    piece = b"\x0a\x01a\x15" + struct.pack("<f", -1.5)
    content = integer + double + single + b"\x0a" + bytes([len(piece)]) + piece
    assert parse_model(content).pieces == (ScoredPiece("a", -1.5, is_normal=True, is_user_defined=False),)
    assert parse_model(content).charsmap == b""
