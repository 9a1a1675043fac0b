"""Sentence splitting by punctuation.

There are no word lists, so the same rule works for every language. It prefers too few cuts: a missed boundary makes a
longer sentence, a wrong one breaks a sentence.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

SPACED = ".!?…।॥؟۔։።။།"
"""Punctuation that ends a sentence when a space follows: Latin, Devanagari, Arabic, Urdu, Armenian, Ethiopic,
Burmese, Tibetan, Khmer."""
FULL_WIDTH = "。！？｡．"
"""Punctuation of scripts without spaces, which ends a sentence anywhere."""
BOUNDARY = re.compile(
    rf"[{SPACED}{FULL_WIDTH}](?:"
    rf"(?<=[{FULL_WIDTH}])[{FULL_WIDTH}]*+[」』”’）】》]*+\s*+"
    rf"|(?<=[{SPACED}])[{SPACED}]*+[\"'”’»›)\]]*+\s++)"
)
"""It starts with one character set: the engine searches for the next match of the set, which makes it fast."""
ASCII_BOUNDARY = re.compile(r"[.!?][.!?]*+[\"')\]]*+\s++(?![a-z])")
"""BOUNDARY for ASCII text, where the expression itself can exclude lower case."""
ABBREVIATION = re.compile(r"(?:^|[\s.(\-])(\w{1,3})\Z")
"""A short word before a full stop; a single letter (`J. Smith`) or a capitalised word (`St. Mary`) ends no sentence."""
MAX_ABBREVIATION_CHARS = 3


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; together they have all of its characters except spaces between them."""
    boundary = ASCII_BOUNDARY if paragraph.isascii() else BOUNDARY
    spans = (match.span() for match in boundary.finditer(paragraph))
    edges = [0, *(end for stop, end in spans if _ends_sentence(paragraph, stop, end)), len(paragraph)]
    return [sentence for start, end in pairwise(edges) if (sentence := paragraph[start:end].strip())]


def split_long_sentence(sentence: str, *, max_chars: int) -> Iterator[str]:
    """Pieces of a sentence of at most `max_chars` characters, cut at a space if there is one."""
    start = 0
    while len(sentence) - start > max_chars:
        space = sentence.rfind(" ", start + 1, start + max_chars + 1)
        cut = space if space > 0 else start + max_chars
        yield sentence[start:cut].rstrip()
        start = cut
        while sentence[start : start + 1].isspace():
            start += 1
    if start < len(sentence):
        yield sentence[start:]


def _ends_sentence(paragraph: str, stop: int, following: int) -> bool:
    """Whether a boundary ends a sentence: no lower case letter follows, and no abbreviation precedes it.

    The punctuation starts at `stop`, the following text at `following`.
    """
    if paragraph[following : following + 1].islower():
        return False
    if paragraph[stop] != "." or not paragraph[stop + 1].isspace():
        return True
    before = paragraph[max(0, stop - MAX_ABBREVIATION_CHARS - 1) : stop]
    if len(before) > MAX_ABBREVIATION_CHARS and before.isalnum():
        return True
    short = ABBREVIATION.search(before)
    return not (short and (len(short[1]) == 1 or short[1].istitle()))
