"""Words without the signs around them, in any script."""

import pytest

from litebert.tokenization.letters import letters_with_marks, without_signs


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
