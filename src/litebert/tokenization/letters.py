"""Letters and their combining marks, in any script; `\\w` does not match marks, such as the vowel signs of Hindi."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

_JOINERS: Final = "\u200c\u200d"
"""Zero-width (non-)joiner: chooses the form of the letter before it, also at the end of a word (Malayalam, Persian)."""
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters written without spaces, as in a character set: Thai, Lao, Burmese, Khmer, Han and kana."""
_RANGES_WITH_MARKS: Final = (range(0x300, 0x20000), range(0xE0000, 0xE1000))
"""Where Unicode has combining marks; looking at every code point would take ten times as long."""


def _mark_ranges() -> Iterator[str]:
    """Runs of combining marks, as in a character set of a regular expression."""
    for codes in _RANGES_WITH_MARKS:
        is_mark = [unicodedata.category(chr(code))[0] == "M" for code in codes]
        edges = [index for index, (one, other) in enumerate(pairwise([False, *is_mark, False])) if one != other]
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            yield f"{chr(codes[start])}-{chr(codes[end - 1])}"


@cache  # not at import: it takes 20 ms
def combining_marks() -> str:
    """Combining marks and joiners, to be used inside a character set of a regular expression."""
    return "".join(_mark_ranges()) + _JOINERS


def word_expression() -> str:
    """Regular expression of a word in any script: letters, digits and underscores with their marks."""
    return rf"\w[\w{combining_marks()}]*"


def without_signs(word: str) -> str:
    """The word from its first letter to its last, with the marks after it; without digits and signs around it."""
    kinds = [unicodedata.category(character)[0] for character in word]
    if "L" not in kinds:
        return ""
    start = kinds.index("L")
    end = len(word) - kinds[::-1].index("L")
    while end < len(word) and (kinds[end] == "M" or word[end] in _JOINERS):
        end += 1
    return word[start:end]


def letter_start(text: str, position: int) -> int:
    """The start of the character, with its marks, that a cut at `position` would divide; 0 if there is none."""
    while 0 < position < len(text) and unicodedata.category(text[position])[0] == "M":
        position -= 1
    return position


def letters_with_marks(text: str) -> list[str]:
    """Each character of the text with the marks that follow it."""
    starts = [index for index, character in enumerate(text) if not unicodedata.category(character).startswith("M")]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]
