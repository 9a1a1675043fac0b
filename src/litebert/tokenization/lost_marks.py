"""Combining marks that a tokenizer drops: which words lose them, and what is left of the words."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from litebert.tokenization.letters import letters_with_marks, without_signs
from litebert.tokenization.normalize import normalize
from litebert.tokenization.tokenizer import Tokenizer

ADVICE_SHARE = 0.01
"""Share of the words above which the report advises to keep the accents.

Measured: 0.003 of the words of English Wikipedia, 0.0002 of English books; in messages of programs 0.005 in Dutch,
and from 0.03 (Italian) to 0.75 (Vietnamese) in 34 languages that need their marks.
"""
MOST_LISTED = 5
"""How many words are listed; each shows the same."""
MAX_LISTED_CHARS = 40
"""A longer "word" is a line of a script without spaces; its letters are listed instead."""


@dataclass(frozen=True)
class WordWithoutMarks:
    """A word, or a letter of a script without spaces, and what a tokenizer leaves of it."""

    word: str
    """Without leading and trailing digits or signs."""
    occurrences: int
    left: str

    def __str__(self) -> str:
        return f"{self.word} → {self.left} {self.occurrences:,}×"


def words_that_lose_marks(tokenizer: Tokenizer, words: Iterable[str]) -> list[str]:
    """The words that have the same ids as without their marks, unless all of their letters with marks are unknown."""
    marked = [word for word in words if _has_marks(word)]
    plain = [normalize(word, lowercase=False, keep_accents=False) for word in marked]
    encoded = zip(marked, tokenizer.encode_batch(marked), tokenizer.encode_batch(plain), strict=True)
    same = ((word, tokenizer.unk_id not in ids) for word, ids, plain_ids in encoded if ids == plain_ids)
    return [word for word, is_known in same if is_known or _has_known_letter(tokenizer, word)]


def most_frequent_without_marks(tokenizer: Tokenizer, words: Counter[str]) -> tuple[WordWithoutMarks, ...]:
    """The most frequent of words that lose marks, the shortest first where the number of occurrences is the same."""
    listed: Counter[str] = Counter()
    for word, count in words.items():
        letters = without_signs(word)
        for part in [letters] if len(letters) <= MAX_LISTED_CHARS else letters_with_marks(letters):
            listed[part] += count * _has_marks(part)
    most = sorted(+listed, key=lambda part: (-listed[part], len(part), part))[:MOST_LISTED]
    return tuple(WordWithoutMarks(part, listed[part], tokenizer.decode(tokenizer.encode(part))) for part in most)


def _has_known_letter(tokenizer: Tokenizer, word: str) -> bool:
    """Whether a letter with marks is known: what else is unknown, such as an emoji, says nothing about the marks."""
    marked = list(filter(_has_marks, letters_with_marks(word)))
    return any(tokenizer.unk_id not in ids for ids in tokenizer.encode_batch(marked))


def _has_marks(word: str) -> bool:
    """Whether the word has marks that google-research/albert drops: of a combining class, after another character.

    `´` alone, which is often typed for an apostrophe, decomposes into a space and a mark, but no letter loses it.
    """
    decomposed = "" if word.isascii() else unicodedata.normalize("NFKD", word)
    return any(unicodedata.combining(mark) and not before.isspace() for before, mark in pairwise(decomposed))
