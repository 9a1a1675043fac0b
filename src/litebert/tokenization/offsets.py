"""Aligns the characters that SentencePiece encodes with the original text.

The exact alignment follows every character through both normalizers and is slow. Nearly every text normalizes to the
concatenation of its normalized characters, and then the alignment follows from a table: this is tried first, and
verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import sentencepiece

from litebert.tokenization.normalize import normalize_with_alignment
from litebert.tokenization.word_starts import SPACE

if TYPE_CHECKING:
    from litebert.tokenization.text_settings import TextSettings


_ASCII_SPACES = np.array([chr(code).isspace() for code in range(128)])

_CONTEXT_DEPENDENT = "\ud800"
"""Result for a character whose normal form depends on its context; no normalized text holds it, so the check fails."""


class CharacterSpans(NamedTuple):
    """Int64 [N] each, never decreasing: the i-th character that is not a space is `original[starts[i]:ends[i]]`."""

    starts: np.ndarray
    ends: np.ndarray


class CharacterAligner(dict[str, str]):
    """Cache: character → its normalized characters without spaces."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, settings: TextSettings) -> None:
        super().__init__()
        self._processor = processor
        self._settings = settings

    def __missing__(self, character: str) -> str:
        normalized = self._settings.normalize(character)
        encoded = self._processor.normalize(normalized)
        is_dropped_mark = not normalized and not character.isspace()
        is_plain = bool(encoded) and SPACE not in encoded.removeprefix(SPACE)
        # A character that SentencePiece drops or turns into a space changes the spans of its neighbours.
        is_independent = is_plain or is_dropped_mark or character.isspace()
        self[character] = encoded.replace(SPACE, "") if is_independent else _CONTEXT_DEPENDENT
        return self[character]

    def spans(self, text: str, normalized: str) -> CharacterSpans:
        """Spans in `text` of the characters of `normalized`, its normal form."""
        encoded = self._processor.normalize(normalized).replace(SPACE, "")
        if text.isascii() and encoded == normalized.replace(" ", ""):
            starts = np.flatnonzero(~_ASCII_SPACES[np.frombuffer(text.encode("ascii"), dtype=np.uint8)])
            return CharacterSpans(starts, starts + 1)
        parts = list(map(self.__getitem__, text))
        return _concatenated_spans(text, parts) if encoded == "".join(parts) else self.exact_spans(text)

    def exact_spans(self, text: str) -> CharacterSpans:
        """`spans`, without the table."""
        settings = self._settings
        aligned = normalize_with_alignment(text, lowercase=settings.lowercase, keep_accents=settings.keep_accents)
        encoded, positions = self._processor.normalize(aligned.text, with_offsets=True)
        edges = np.array(positions, dtype=np.int64)
        begin = edges[: len(encoded)]
        end = edges[np.searchsorted(edges, begin, side="right").clip(max=len(encoded))]
        keep = np.array([character != SPACE for character in encoded], dtype=bool)
        return CharacterSpans(aligned.starts[begin[keep]], aligned.ends[end[keep] - 1])


def _concatenated_spans(text: str, parts: list[str]) -> CharacterSpans:
    """The span of each character for all of its normalized characters, extended by marks dropped after it."""
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    empty = np.flatnonzero((lengths == 0) & (codes != ord(" "))).tolist()
    dropped = [position for position in empty if not text[position].isspace()]
    starts = np.delete(np.arange(len(parts)), dropped)
    ends = np.append(starts[1:], len(parts))[: len(starts)]  # empty for a text of marks alone
    return CharacterSpans(starts.repeat(lengths[starts]), ends.repeat(lengths[starts]))
