import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tokenization.normalize import normalize, normalize_with_alignment, without_surrogates
from support.data.tokenizer_material import odd_texts

WAYS = st.fixed_dictionaries({"lowercase": st.booleans(), "keep_accents": st.booleans()})


def reference_normalize(text: str, *, lowercase: bool, keep_accents: bool) -> str:
    """`preprocess_text`, step by step."""
    text = " ".join(text.strip().split())
    if not keep_accents:
        text = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in text if not unicodedata.combining(character))
    return text.lower() if lowercase else text


@given(odd_texts(), WAYS)
def test_normalize_equals_google_research_albert(text, way):
    assert normalize(text, **way) == reference_normalize(without_surrogates(text), **way)


@pytest.mark.parametrize(
    ("text", "way", "expected"),
    [
        ("  Hello,\t World ", {"lowercase": True, "keep_accents": False}, "hello, world"),
        ("Café ½ ﬁ", {"lowercase": True, "keep_accents": False}, "cafe 1\u20442 fi"),
        ("Café", {"lowercase": False, "keep_accents": False}, "Cafe"),
        ("CAFÉ", {"lowercase": True, "keep_accents": True}, "café"),
        ("ΟΔΟΣ", {"lowercase": True, "keep_accents": False}, "οδος"),
        ("a\ud800b", {"lowercase": True, "keep_accents": True}, "a\ufffdb"),
        ("", {"lowercase": True, "keep_accents": False}, ""),
    ],
)
def test_normalize_examples(text, way, expected):
    assert normalize(text, **way) == expected


@given(odd_texts(), WAYS)
def test_normalize_with_alignment_gives_the_same_text_and_ordered_spans(text, way):
    aligned = normalize_with_alignment(text, **way)
    assert aligned.text == normalize(text, **way)
    assert len(aligned.starts) == len(aligned.ends) == len(aligned.text)
    assert np.all(aligned.starts < aligned.ends)
    assert np.all(np.diff(aligned.starts) >= 0)
    assert np.all(np.diff(aligned.ends) >= 0)


@given(odd_texts(), WAYS)
def test_alignment_spans_hold_the_source_of_each_character(text, way):
    aligned = normalize_with_alignment(text, **way)
    for character, start, end in zip(aligned.text, aligned.starts, aligned.ends, strict=True):
        source = text[start:end]
        if character == " ":
            assert not normalize(source, **way).strip()
        else:  # a sigma knows whether it ends a word only in its word
            assert character.replace("ς", "σ") in normalize(source, **way).replace("ς", "σ")


def test_alignment_adds_a_dropped_mark_to_the_character_before_it():
    aligned = normalize_with_alignment("e\u0301a", lowercase=True, keep_accents=False)
    assert (aligned.text, aligned.starts.tolist(), aligned.ends.tolist()) == ("ea", [0, 2], [2, 3])


def test_alignment_gives_one_span_to_both_parts_of_a_character():
    aligned = normalize_with_alignment("xİ", lowercase=True, keep_accents=True)
    assert (aligned.text, aligned.starts.tolist(), aligned.ends.tolist()) == ("xi\u0307", [0, 1, 1], [1, 2, 2])
