"""Sentence splitting by punctuation.

There are no word lists, so the same rule works for every language. It prefers too few cuts: a missed boundary makes a
longer sentence, a wrong one breaks a sentence.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from litebert.tokenization.letters import UNSPACED, combining_marks, letter_start

SPACED = ".!?…\u037e।॥؟۔։።፧။།"
"""Punctuation that ends a sentence when a space follows: Latin, Greek, Devanagari, Arabic, Urdu, Armenian, Ethiopic,
Burmese, Tibetan, Khmer."""
FULL_WIDTH = "。！？｡．"
"""Punctuation of scripts without spaces, which ends a sentence anywhere."""
_SPACED_QUOTE = r"[ \u00a0\u202f]»(?=[\s.,;:!?)]|\Z)"
BOUNDARY = re.compile(
    rf"[{SPACED}{FULL_WIDTH}](?:"
    rf"(?<=[{FULL_WIDTH}])[{FULL_WIDTH}]*+[」』”’）】》]*+\s*+"
    rf"|(?<=[{SPACED}])[{SPACED}]*+[\"'”’“‘»›«‹)\]]*+(?:{_SPACED_QUOTE}|(?!{_SPACED_QUOTE}))\s++)"
)
"""It starts with one character set: the engine searches for the next match of the set, which makes it fast. A closing
`“`, `‘` or `«` is that of German or Danish; French has a space before `»`. No group has a possessive quantifier, which
Python before 3.11.5 matches wrongly (python/cpython issue 106052)."""
CLOSING_QUOTES = "」』”’"
ASCII_BOUNDARY = re.compile(r"[.!?][.!?]*+[\"')\]]*+\s++(?![a-z])")
"""BOUNDARY for ASCII text, where the expression itself can exclude lower case."""
DANDA = "।"
MAX_ABBREVIATION_LETTERS = 3
MAX_ABBREVIATION_CHARS = 10
"""Characters searched for an abbreviation: its letters, with some marks each, and what is before it."""


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; together they have all of its characters except spaces between them."""
    boundary = ASCII_BOUNDARY if paragraph.isascii() else BOUNDARY
    spans = (match.span() for match in boundary.finditer(paragraph))
    has_danda = DANDA in paragraph
    ends = (end for stop, end in spans if _ends_sentence(paragraph, stop, end, has_danda=has_danda))
    edges = [0, *ends, len(paragraph)]
    return [sentence for start, end in pairwise(edges) if (sentence := paragraph[start:end].strip())]


def split_long_sentence(sentence: str, *, max_chars: int) -> Iterator[str]:
    """Pieces of a sentence of at most `max_chars` characters, cut at a space if there is one, else between letters."""
    start = 0
    while len(sentence) - start > max_chars:
        space = sentence.rfind(" ", start + 1, start + max_chars + 1)
        cut = space if space > 0 else start + _full_letters(sentence[start : start + max_chars + 1])
        yield sentence[start:cut].rstrip()
        start = cut
        while sentence[start : start + 1].isspace():
            start += 1
    if start < len(sentence):
        yield sentence[start:]


def _full_letters(text: str) -> int:
    """How many characters of all but the last are letters with all their marks; all of them if there are only marks."""
    return letter_start(text, len(text) - 1) or len(text) - 1


def _ends_sentence(paragraph: str, stop: int, following: int, *, has_danda: bool) -> bool:
    """Whether a boundary ends a sentence: the sentence does not continue after it, and no abbreviation precedes it.

    The punctuation starts at `stop`, the following text at `following`.
    """
    after = paragraph[following : following + 1]
    if after.islower():
        return False
    if paragraph[stop] == ".":
        return not paragraph[stop + 1].isspace() or not _is_abbreviation(paragraph, stop, has_danda=has_danda)
    if after.isalpha() and paragraph[following - 1] in CLOSING_QUOTES:
        return False
    if paragraph[stop] != "．":
        return True
    is_decimal = after.isdecimal() and paragraph[stop - 1 : stop].isdecimal()
    return not is_decimal and not _is_abbreviation(paragraph, stop, has_danda=has_danda)


def _is_abbreviation(paragraph: str, stop: int, *, has_danda: bool) -> bool:
    """Whether the full stop is that of an initial (`J. Smith`), an ordinal (`12. Oktober`) or a short word.

    A short word is capitalised (`St. Mary`), or it is of a text in which full stops end no sentences: because a danda
    does, or because the script has no spaces.
    """
    before = paragraph[max(0, stop - MAX_ABBREVIATION_LETTERS - 1) : stop]
    if len(before) > MAX_ABBREVIATION_LETTERS and before.isalnum():  # as of nearly every word
        return False
    short = _short_word().search(paragraph[max(0, stop - MAX_ABBREVIATION_CHARS) : stop])
    if short is None:
        return False
    word = short[1]
    if len(word) == 1 or word.istitle() or word.isupper():
        return True
    if word.isdecimal():
        return len(word) == 2  # of a day or a century, unlike that of a year
    return (has_danda and not word.isascii()) or _unspaced().match(word) is not None


@cache
def _short_word() -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s.．(\-])((?:\w[{combining_marks()}]*){{1,{MAX_ABBREVIATION_LETTERS}}})\Z")


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]")
