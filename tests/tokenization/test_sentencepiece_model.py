import io
import json

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DataError
from litebert.tokenization.normalize import normalize
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.word_starts import SPACE
from support.data.tokenizer_material import SHARED, number_like_texts, number_texts, odd_texts, texts_of_scripts

WAYS = ({}, {"keep_accents": True}, {"lowercase": False, "keep_accents": True}, {"digit_comma": False})


def reference_pieces(plain, text: str) -> list[str]:
    """`encode_pieces` of google-research/albert, written out piece by piece."""
    result = []
    for piece in plain.pieces(text):
        if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
            result += [*plain.pieces(piece[:-1].replace(SPACE, "")), ","]
        else:
            result.append(piece)
    return result


def visible(text: str) -> str:
    """Without spaces and with one form of sigma."""
    return text.replace(SPACE, "").replace(" ", "").replace("ς", "σ")


def test_digit_comma_vocabulary_has_pieces_to_split(numbers):
    assert {"▁12,", "2,"} <= set(numbers.model.vocabulary)


@given(text=number_like_texts())
def test_digit_comma_rule_equals_google_research_albert(numbers, rebuilt, text):
    assert numbers.pieces(text) == reference_pieces(rebuilt(digit_comma=False), text)


def test_digit_comma_rule_adds_a_word_start_inside_a_word(numbers, rebuilt):
    assert rebuilt(digit_comma=False).pieces("x2,") == ["▁", "x", "2,"]
    assert numbers.pieces("x2,") == ["▁", "x", "▁", "2", ","]


@given(text=odd_texts() | number_like_texts() | texts_of_scripts(), way=st.sampled_from(WAYS))
def test_sentencepiece_ids_pieces_and_offsets_have_equal_lengths(rebuilt, text, way):
    tokenizer = rebuilt(**way)
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode(text)
    assert len(ids) == len(offsets) == len(tokenizer.pieces(text))
    known = [index for index in ids if index != tokenizer.unk_id]
    pieces = [piece for piece, index in zip(tokenizer.pieces(text), ids) if index != tokenizer.unk_id]
    assert [tokenizer.id_to_piece(index) for index in known] == pieces


@given(text=odd_texts() | number_like_texts() | texts_of_scripts(), way=st.sampled_from(WAYS))
def test_offsets_slice_the_text_of_each_piece(rebuilt, text, way):
    tokenizer = rebuilt(**way)
    for piece, (start, end) in zip(tokenizer.pieces(text), tokenizer.encode_with_offsets(text)[1], strict=True):
        assert 0 <= start <= end <= len(text)
        assert visible(piece) in visible("".join(tokenizer.pieces(text[start:end])))


@given(text=st.text('abc, 129.()"é', max_size=30))
def test_offsets_are_exact_where_each_character_stays_one(numbers, text):
    for piece, (start, end) in zip(numbers.pieces(text), numbers.encode_with_offsets(text)[1], strict=True):
        assert normalize(text[start:end], lowercase=True, keep_accents=False) == visible(piece)


def test_offsets_exclude_spaces_and_include_accents(numbers):
    text = "A  small cafe\u0301."
    _, offsets = numbers.encode_with_offsets(text)
    spelt = [text[start:end] for start, end in offsets]
    assert "".join(spelt) == "Asmallcafe\u0301."
    assert "e\u0301" in spelt[-2]


def test_offsets_of_an_empty_text_are_empty(numbers):
    assert numbers.encode_with_offsets("") == ([], [])
    assert numbers.encode_with_offsets(" \t") == ([], [])


def test_special_tokens_are_never_produced_from_text(numbers):
    specials = {numbers.pad_id, numbers.cls_id, numbers.sep_id, numbers.mask_id}
    assert specials.isdisjoint(numbers.encode("[MASK] [CLS] <pad> [SEP]"))


@pytest.mark.parametrize("content", [b"", b"no model", b"\x0a\x05\x0a\x01a"])
def test_sentencepiece_model_refuses_other_files_by_name(content):
    with pytest.raises(DataError, match=r"some\.model: (not a SentencePiece model|has no piece)"):
        SentencePieceModel(content, TextSettings(), where="some.model")


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_sentencepiece_model_refuses_types_other_than_unigram(kind):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(number_texts()),
        model_writer=model,
        model_type=kind,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    with pytest.raises(DataError, match=f"some.model: a SentencePiece model of type {kind}, expected unigram"):
        SentencePieceModel(model.getvalue(), TextSettings(), where="some.model")


def cut(content: bytes) -> bytes:
    return content[:-100]


def with_a_piece_that_is_no_text(content: bytes) -> bytes:
    return content.replace("▁12,".encode(), b"\xff" * 6)


@pytest.mark.parametrize("damage", [cut, with_a_piece_that_is_no_text])
def test_sentencepiece_model_refuses_damaged_files(numbers, damage):
    with pytest.raises(DataError, match="damaged"):
        SentencePieceModel(damage(numbers.model.content), TextSettings(), where="some.model")


def test_encode_gives_the_ids_of_the_reference(released):
    rows = json.loads((SHARED / "fixtures" / "tokenization.json").read_text(encoding="utf-8"))
    assert len(rows) == 330
    assert released.encode_batch([row["text"] for row in rows]) == [row["ids"] for row in rows]
    assert [released.pieces(row["text"]) for row in rows] == [row["pieces"] for row in rows]


def test_encode_gives_the_ids_published_by_other_projects(released):
    reference = json.loads((SHARED / "fixtures" / "hf_albert_reference.json").read_text(encoding="utf-8"))["tokenizer"]
    assert released.vocab_size == reference["size"]
    assert released.id_to_piece(released.vocab_size - 1) == reference["last_piece"]
    for row in reference["integration_albert_base_v2_with_special_tokens"]:
        assert released.encode_pair(row["text"]).input_ids == row["ids"]
    accents = SentencePieceModel(released.model.content, TextSettings(keep_accents=True), where="released")
    for row in reference["keep_accents_true"]:
        assert accents.pieces(row["text"]) == row["tokens"]
        assert accents.encode_batch([row["text"]]) == [row["ids"]]
