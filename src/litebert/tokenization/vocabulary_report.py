"""Statistics of a vocabulary on held-out texts: coverage, unknown rate, fertility, words that lose combining marks."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from litebert.tokenization.letters import without_signs
from litebert.tokenization.lost_marks import (
    ADVICE_SHARE,
    WordWithoutMarks,
    most_frequent_without_marks,
    words_that_lose_marks,
)
from litebert.tokenization.tokenizer import Tokenizer

MOST_LISTED = 10
"""How many unknown strings and split words are listed."""
MAX_LISTED_CHARS = 40
"""A longer "word" is a line of a script without spaces and is not listed."""


@dataclass(frozen=True)
class SplitWord:
    """A word of the texts and its pieces."""

    word: str
    """Without leading and trailing digits or signs."""
    occurrences: int
    pieces: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.word} ({' '.join(self.pieces)}) {self.occurrences:,}×"


@dataclass(frozen=True)
class VocabularyReport:
    """Counts over texts; words are separated by white space."""

    words: int
    characters: int
    """Without white space."""
    pieces: int
    whole_words: int
    """Words that are one piece."""
    unknown_pieces: int
    unknown_characters: int
    """Characters inside unknown pieces."""
    used_pieces: int
    """Number of distinct pieces that occur."""
    vocab_size: int
    unknown: tuple[tuple[str, int], ...]
    """The most frequent strings that are unknown, and how often each occurs."""
    most_split: tuple[SplitWord, ...]
    """The words with the most pieces beyond their first, summed over their occurrences."""
    words_without_marks: int
    """Words of which normalization drops combining marks; these never count as unknown."""
    without_marks: tuple[WordWithoutMarks, ...]
    """The most frequent of these words."""

    def figures(self) -> dict[str, float]:
        """Ratios by name: coverage is the share of the characters in known pieces, `pieces_per_word` the fertility."""
        words, pieces = max(self.words, 1), max(self.pieces, 1)
        return {
            "coverage": 1 - self.unknown_characters / max(self.characters, 1),
            "unknown_rate": self.unknown_pieces / pieces,
            "pieces_per_word": self.pieces / words,
            "characters_per_piece": self.characters / pieces,
            "whole_word_share": self.whole_words / words,
            "used_share": self.used_pieces / self.vocab_size,
            "without_marks_share": self.words_without_marks / words,
        }

    def to_text(self) -> str:
        """The report as text."""
        lines = [
            f"words: {self.words:,}, of {{pieces_per_word:.2f}} pieces each; {{whole_word_share:.1%}} are one piece",
            f"pieces: {self.pieces:,}, of {{characters_per_piece:.2f}} characters each; "
            "{used_share:.1%} of the vocabulary occurs",
            "coverage: {coverage:.4%} of the characters; {unknown_rate:.4%} of the pieces are unknown",
        ]
        lines = [line.format(**self.figures()) for line in lines]
        if self.words_without_marks:
            lines.append(self.lost_marks())
        if self.unknown:
            lines.append("unknown: " + ", ".join(f"{text!r} {count:,}×" for text, count in self.unknown))
        if self.most_split:
            lines.append("most split words: " + ", ".join(map(str, self.most_split)))
        return "\n".join(lines)

    @property
    def loses_many_marks(self) -> bool:
        """Whether more words lose marks than those of English text, so that the tokenizer should keep them."""
        return self.figures()["without_marks_share"] > ADVICE_SHARE

    def lost_marks(self) -> str:
        """The share of the words that lose marks, the most frequent of them, and what to do if they are many."""
        lost = f"lost marks: {self.figures()['without_marks_share']:.2%} of the words lose accents or other marks"
        advice = "; to keep them, train the tokenizer with --keep-accents (keep_accents=True), before pretraining"
        return f"{lost}: {', '.join(map(str, self.without_marks))}{advice if self.loses_many_marks else ''}"


def report_on(tokenizer: Tokenizer, texts: Iterable[str]) -> VocabularyReport:
    """Count words, pieces and unknown characters of texts."""
    words = Counter(word for text in texts for word in text.split())
    encoded = dict(zip(words, tokenizer.encode_batch(list(words)), strict=True))
    used = np.zeros(tokenizer.vocab_size, dtype=bool)
    unknown: Counter[str] = Counter()
    unknown_pieces = 0
    for word, ids in encoded.items():
        used[ids] = True
        if tokenizer.unk_id in ids:
            unknown_pieces += words[word] * ids.count(tokenizer.unk_id)
            for index, (start, end) in zip(*tokenizer.encode_with_offsets(word), strict=True):
                unknown[word[start:end]] += words[word] * (index == tokenizer.unk_id)
    without_marks = Counter({word: words[word] for word in words_that_lose_marks(tokenizer, words)})
    return VocabularyReport(
        words=words.total(),
        characters=sum(len(word) * count for word, count in words.items()),
        pieces=sum(len(ids) * words[word] for word, ids in encoded.items()),
        whole_words=sum(words[word] for word, ids in encoded.items() if len(ids) == 1),
        unknown_pieces=unknown_pieces,
        unknown_characters=sum(len(text) * count for text, count in unknown.items()),
        used_pieces=int(used.sum()),
        vocab_size=tokenizer.vocab_size,
        unknown=tuple((+unknown).most_common(MOST_LISTED)),
        most_split=_most_split(tokenizer, words),
        words_without_marks=without_marks.total(),
        without_marks=most_frequent_without_marks(tokenizer, without_marks),
    )


def _most_split(tokenizer: Tokenizer, words: Counter[str]) -> tuple[SplitWord, ...]:
    bare: Counter[str] = Counter()
    for word, count in words.items():
        if len(word) <= MAX_LISTED_CHARS and (letters := without_signs(word)):
            bare[letters] += count
    encoded = zip(bare, tokenizer.encode_batch(list(bare)), strict=True)
    costs = {word: bare[word] * (len(ids) - 1) for word, ids in encoded if len(ids) > 1}
    costliest = sorted(costs, key=lambda word: (-costs[word], word))[:MOST_LISTED]
    return tuple(SplitWord(word, bare[word], tuple(tokenizer.pieces(word))) for word in costliest)
