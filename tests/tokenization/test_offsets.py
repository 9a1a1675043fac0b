"""The alignment by table equals the exact alignment."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from litebert.tokenization.normalize import Span, normalize
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.word_starts import SPACE
from support.data.tokenizer_material import SHARED, number_like_texts, odd_texts, texts_of_scripts

WAYS = ({}, {"keep_accents": True}, {"lowercase": False, "keep_accents": True}, {"digit_comma": False})


def defined_offsets(tokenizer: Tokenizer, text: str) -> list[Span]:
    """Piece by piece: each takes the next characters that are not spaces."""
    visible = tokenizer.model.aligner.exact_spans(text)
    starts, ends = visible.starts.tolist(), visible.ends.tolist()
    offsets: list[Span] = []
    taken = 0
    for piece in tokenizer.pieces(text):
        length = len(piece.replace(SPACE, ""))
        edge = starts[taken] if taken < len(starts) else ends[-1] if ends else 0
        offsets.append((starts[taken], ends[taken + length - 1]) if length else (edge, edge))
        taken += length
    return offsets


@given(text=odd_texts() | number_like_texts() | texts_of_scripts(), way=st.sampled_from(WAYS))
@example(text="cafe\u0301  O\u0308l", way={})
@example(text="a\u200bb\u200d c\x01", way={})
@example(text="ΟΔΟΣ ½ … ﬁ", way={})
@example(text="\u1112\u1161\u11ab 한", way={})
@example(text="x \ud800\u0301", way={"keep_accents": True})
def test_character_spans_equal_the_exact_spans(rebuilt, text, way):
    tokenizer = rebuilt(**way)
    assert tokenizer.encode_with_offsets(text)[1] == defined_offsets(tokenizer, text)


@given(text=odd_texts() | number_like_texts() | texts_of_scripts(), way=st.sampled_from(WAYS))
@example(text="c\ufb01\u0344", way={})
@example(text="a\ufb01\u0308\u0301b", way={})
@example(text="c\ufb01\u0344", way={"keep_accents": True})
def test_spans_by_table_are_the_exact_spans_of_every_character(rebuilt, text, way):
    model = rebuilt(**way).model
    found, exact = model.aligner.spans(text, model.settings.normalize(text)), model.aligner.exact_spans(text)
    assert (found.starts.tolist(), found.ends.tolist()) == (exact.starts.tolist(), exact.ends.tolist())


@given(texts=st.lists(odd_texts() | number_like_texts(), max_size=4))
def test_character_spans_of_a_batch_are_those_of_each_text(numbers, texts):
    assert numbers.encode_batch_with_offsets(texts) == [numbers.encode_with_offsets(text) for text in texts]


@pytest.mark.parametrize(
    "text", ["A plain text, in 1999,\tof two\x1clines.", "The “café” – naïve… ½ cafe\u0301, «Ελλάς» 한국 我们 ﬁn."]
)
def test_character_spans_of_usual_texts_need_no_exact_alignment(numbers, monkeypatch, text):
    expected = defined_offsets(numbers, text)
    monkeypatch.setattr(type(numbers.model.aligner), "exact_spans", None)
    assert numbers.encode_with_offsets(text)[1] == expected


@pytest.mark.parametrize("text", ["a\u200bb", "a▁b", "´", "\u1112\u1161\u11ab", "a\x01"])
def test_character_spans_in_context_use_the_exact_alignment(numbers, monkeypatch, text):
    monkeypatch.setattr(type(numbers.model.aligner), "exact_spans", None)
    with pytest.raises(TypeError, match="not callable"):
        numbers.encode_with_offsets(text)


def test_offsets_slice_every_text_of_the_reference(released):
    rows = json.loads((SHARED / "fixtures" / "tokenization.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in rows]
    for text, (_, offsets) in zip(texts, released.encode_batch_with_offsets(texts), strict=True):
        assert offsets == defined_offsets(released, text)
        for piece, (start, end) in zip(released.pieces(text), offsets, strict=True):
            spelt = normalize(text[start:end], lowercase=True, keep_accents=False)
            assert piece.replace(SPACE, "") in "".join(released.pieces(spelt)).replace(SPACE, "")
