"""Words of a text with their positions, for token classification of plain text."""

import re
from dataclasses import dataclass

from litebert.tokenization.letters import word_expression

_WORD = re.compile(rf"{word_expression()}|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Word:
    """A run of letters and digits with their combining marks, or one other sign."""

    text: str
    start: int
    """Its first character in the text."""
    end: int
    """The character after its last."""


def words_in(text: str) -> list[Word]:
    """The words of a text; punctuation is separate, as in CoNLL 2003."""
    return [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
