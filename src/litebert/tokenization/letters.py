"""Letters and their combining marks, in any script; `\\w` does not match marks, such as the vowel signs of Hindi."""

import unicodedata
from itertools import pairwise

_JOINERS = "\u200c\u200d"
"""Zero-width (non-)joiner: chooses the form of the letter before it, also at the end of a word (Malayalam, Persian)."""


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


def letters_with_marks(text: str) -> list[str]:
    """Each character of the text with the marks that follow it."""
    starts = [index for index, character in enumerate(text) if not unicodedata.category(character).startswith("M")]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]
