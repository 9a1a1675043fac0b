"""Paragraphs to sentences, by punctuation alone. Before: documents. After: token ids (build).

No word lists, so the same rule serves every language. It errs on the side of too few cuts: a missed one makes a longer
sentence, a wrong one breaks a thought.
"""

import re
from collections.abc import Iterator

SPACED_END = r"[.!?…।॥؟۔։።။།។]+[\"'”’»›)\]]*\s+"
"""Punctuation that ends a sentence when a space follows: Latin, Devanagari, Arabic, Urdu, Armenian, Ethiopic,
Burmese, Tibetan, Khmer."""
FULL_WIDTH_END = r"[。！？｡．]+[」』”’）】》]*\s*"
"""Punctuation of scripts without spaces, which ends a sentence anywhere."""
BOUNDARY = re.compile(f"(?:{SPACED_END})|(?:{FULL_WIDTH_END})")
ABBREVIATION = re.compile(r"(?:^|[\s.(\-])(\w{1,3})\.\s+$")
"""A short word with a full stop, of which a single letter (`J. Smith`) and a capitalised word (`St. Mary`) end none."""
LONGEST_ABBREVIATION = 8
"""Characters before a boundary that ABBREVIATION is shown."""


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; together they hold all of its characters except the spaces between them."""
    starts = [0, *(match.end() for match in BOUNDARY.finditer(paragraph) if _ends_sentence(paragraph, match))]
    pieces = (paragraph[start:end].strip() for start, end in zip(starts, [*starts[1:], len(paragraph)], strict=True))
    return [piece for piece in pieces if piece]


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


def _ends_sentence(paragraph: str, match: re.Match[str]) -> bool:
    """Whether the text goes on like a new sentence: not in lower case, and not after an abbreviation."""
    following = paragraph[match.end() : match.end() + 1]
    if following.islower():
        return False
    short = ABBREVIATION.search(paragraph[max(0, match.end() - LONGEST_ABBREVIATION) : match.end()])
    return not (short and (len(short[1]) == 1 or short[1].istitle()))
