"""Words of running texts with their positions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.tasks.word_spans import word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Anna lives in Berlin.", ["Anna", "lives", "in", "Berlin", "."]),
        ("Élodie's  naïve_\tcafé…", ["Élodie", "'", "s", "naïve_", "café", "…"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("राम, दिल्ली में।", ["राम", ",", "दिल्ली", "में", "।"]),
        ("good ❤\ufe0f🙂", ["good", "❤\ufe0f", "🙂"]),
        (" \n", []),
    ],
)
def test_words_of_a_text_are_separate_from_punctuation_and_keep_their_marks(text, words):
    assert [text[start:end] for start, end in word_spans(text)] == words


@given(st.text(st.sampled_from("aé1_ .,-\n\t🙂\u200d\u0301\u0915\u093e") | st.characters(), max_size=40))
def test_words_of_a_text_cover_all_but_white_space_once_and_in_order(text):
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())
