"""How well a vocabulary fits texts. Before: a tokenizer and texts it was not trained on. After: `cli` shows it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class VocabularyReport:
    """Counts over some texts; a word is what stands between white space."""

    words: int
    characters: int
    """White space not counted."""
    pieces: int
    unknown_characters: int
    """Characters inside unknown pieces."""
    used_pieces: int
    """Different pieces that occur."""
    vocab_size: int

    @property
    def coverage(self) -> float:
        """Share of the characters that the vocabulary can spell; 1 for no text."""
        return 1 - self.unknown_characters / max(self.characters, 1)

    @property
    def pieces_per_word(self) -> float:
        """Also called fertility; 1 would be a vocabulary of whole words."""
        return self.pieces / max(self.words, 1)

    @property
    def used_share(self) -> float:
        """Share of the vocabulary that occurs."""
        return self.used_pieces / self.vocab_size


def report_on(tokenizer: Tokenizer, texts: Iterable[str]) -> VocabularyReport:
    """Count words, pieces and unknown characters of held-out texts."""
    words = characters = pieces = unknown = 0
    used = np.zeros(tokenizer.vocab_size, dtype=bool)
    for text in texts:
        ids = tokenizer.encode(text)
        words += len(text.split())
        characters += _visible(text)
        pieces += len(ids)
        used[ids] = True
        unknown += _unknown_characters(tokenizer, text) if tokenizer.unk_id in ids else 0
    return VocabularyReport(words, characters, pieces, unknown, int(used.sum()), tokenizer.vocab_size)


def _unknown_characters(tokenizer: Tokenizer, text: str) -> int:
    ids, offsets = tokenizer.encode_with_offsets(text)
    return sum(_visible(text[start:end]) for index, (start, end) in zip(ids, offsets) if index == tokenizer.unk_id)


def _visible(text: str) -> int:
    return sum(len(word) for word in text.split())
