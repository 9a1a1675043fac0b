"""Words without the signs around them, in any script."""

import re
import sys
import unicodedata

import pytest

from litebert.tokenization.letters import combining_marks, letters_with_marks, without_signs, word_expression


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ('"you,"', "you"),
        ("(D'Artagnan)", "D'Artagnan"),
        ("l'e\u0301te\u0301,", "l'e\u0301te\u0301"),
        ("हिन्दी।", "हिन्दी"),
        ("(क्या?)", "क्या"),
        ("ไม่", "ไม่"),
        ("മലയാളം", "മലയാളം"),
        ("അവന്\u200d,", "അവന്\u200d"),
        ("\u0301a", "a"),
        ("v2x3", "v2x"),
        ("_a_", "a"),
        ("1999", ""),
        ("\u0301", ""),
        ("½", ""),
        ("", ""),
    ],
)
def test_without_signs_keeps_letters_with_their_marks(word, expected):
    assert without_signs(word) == expected


def test_letters_with_marks_keeps_marks_with_the_letter_before_them():
    assert letters_with_marks("हिन्दी") == ["हि", "न्", "दी"]
    assert letters_with_marks("ガa") == ["ガ", "a"]
    assert letters_with_marks("") == []


def test_marks_are_those_of_unicode_and_the_joiners():
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    found = re.findall(f"[{combining_marks()}]", "".join(characters))
    marks = [each for each in characters if unicodedata.category(each).startswith("M")]
    assert set(found) == {*marks, "\u200c", "\u200d"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("l'e\u0301te\u0301 2024", ["l", "e\u0301te\u0301", "2024"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("\u0301 a", ["a"]),
        ("… !", []),
    ],
)
def test_word_matches_letters_with_their_marks(text, words):
    assert re.findall(word_expression(), text) == words
