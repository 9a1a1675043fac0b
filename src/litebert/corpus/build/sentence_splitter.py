"""Paragraphs to sentences, by punctuation alone. Before: documents. After: token ids (build).

No word lists, so the same rule serves every language. It errs on the side of too few cuts: a missed one makes a longer
sentence, a wrong one breaks a thought.
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
"""One set of characters at the front: the expression engine skips to the next of them, which is most of the speed."""
ASCII_BOUNDARY = re.compile(r"[.!?][.!?]*+[\"')\]]*+\s++(?![a-z])")
"""BOUNDARY for text of ASCII characters alone, where lower case needs no call to be known."""
ABBREVIATION = re.compile(r"(?:^|[\s.(\-])(\w{1,3})\Z")
"""A short word before a stop, of which a single letter (`J. Smith`) and a capitalised word (`St. Mary`) ends none."""
LONGEST_ABBREVIATION = 3


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; together they hold all of its characters except the spaces between them."""
    boundary = ASCII_BOUNDARY if paragraph.isascii() else BOUNDARY
    spans = (match.span() for match in boundary.finditer(paragraph))
    edges = [0, *(end for stop, end in spans if _ends_sentence(paragraph, stop, end)), len(paragraph)]
    return [sentence for start, end in pairwise(edges) if (sentence := paragraph[start:end].strip())]


def cut_long(sentence: str, *, longest: int) -> Iterator[str]:
    """The sentence in pieces of at most `longest` characters, cut at a space where there is one."""
    start = 0
    while len(sentence) - start > longest:
        space = sentence.rfind(" ", start + 1, start + longest + 1)
        cut = space if space > 0 else start + longest
        yield sentence[start:cut].rstrip()
        start = cut
        while sentence[start : start + 1].isspace():
            start += 1
    if start < len(sentence):
        yield sentence[start:]


def _ends_sentence(paragraph: str, stop: int, following: int) -> bool:
    """Whether the text behind a boundary goes on like a new sentence: not in lower case, not after an abbreviation.

    The punctuation begins at `stop`, the text goes on at `following`.
    """
    if paragraph[following : following + 1].islower():
        return False
    if paragraph[stop] != "." or not paragraph[stop + 1].isspace():
        return True
    before = paragraph[max(0, stop - LONGEST_ABBREVIATION - 1) : stop]
    if len(before) > LONGEST_ABBREVIATION and before.isalnum():
        return True
    short = ABBREVIATION.search(before)
    return not (short and (len(short[1]) == 1 or short[1].istitle()))
