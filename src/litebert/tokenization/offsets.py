"""Where each character that SentencePiece sees stands in the text as given. After: `sentencepiece_model.py`.

The definition follows every character through both normalisers and is slow. Nearly every text is the sum of its
characters, and then their places follow from what each one alone becomes: that is tried first, and checked.
"""

from dataclasses import dataclass

import numpy as np
import sentencepiece

from litebert.tokenization.normalize import normalize, normalize_with_alignment
from litebert.tokenization.subwords import SPACE
from litebert.tokenization.text_settings import TextSettings

_ASCII_SPACES = np.array([chr(code).isspace() for code in range(128)])

_NO_SUM = "\ud800"
"""Stands for a character whose place depends on its neighbours; no normalised text holds it, so the check fails."""


@dataclass(frozen=True)
class CharacterSpans:
    """The visible character `i` comes from `original[starts[i]:ends[i]]`; spaces are left out."""

    starts: np.ndarray
    """Int64 [N], never decreasing."""
    ends: np.ndarray
    """Int64 [N], never decreasing."""


class CharacterAligner(dict[str, str]):
    """Character of a text → the visible characters it becomes on its own, found out when first asked for."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, settings: TextSettings) -> None:
        super().__init__()
        self._processor = processor
        self._settings = settings

    def __missing__(self, character: str) -> str:
        kept = self._normalize(character)
        seen = self._processor.normalize(kept)
        is_dropped_mark = not kept and not character.isspace()
        is_plain = bool(seen) and SPACE not in seen.removeprefix(SPACE)
        # What SentencePiece itself drops or turns into a space moves the edges of its neighbours.
        known = is_plain or is_dropped_mark or character.isspace()
        self[character] = _without_spaces(seen) if known else _NO_SUM
        return self[character]

    def spans(self, text: str, normalized: str) -> CharacterSpans:
        """Spans of the visible characters of a text, which `normalize` has made into `normalized`."""
        seen = _without_spaces(self._processor.normalize(normalized))
        if text.isascii() and seen == normalized.replace(" ", ""):
            return _ascii_spans(text)
        parts = list(map(self.__getitem__, text))
        if seen == "".join(parts):
            return _summed_spans(text, parts)
        return self.defined_spans(text)

    def defined_spans(self, text: str) -> CharacterSpans:
        """What `spans` gives, by definition."""
        aligned = normalize_with_alignment(
            text, lowercase=self._settings.lowercase, keep_accents=self._settings.keep_accents
        )
        seen, positions = self._processor.normalize(aligned.text, with_offsets=True)
        edges = np.array(positions, dtype=np.int64)
        begin = edges[: len(seen)]
        end = edges[np.searchsorted(edges, begin, side="right").clip(max=len(seen))]
        visible = np.array([character != SPACE for character in seen], dtype=bool)
        return CharacterSpans(aligned.starts[begin[visible]], aligned.ends[end[visible] - 1])

    def _normalize(self, text: str) -> str:
        return normalize(text, lowercase=self._settings.lowercase, keep_accents=self._settings.keep_accents)


def _ascii_spans(text: str) -> CharacterSpans:
    """Each character that is no space, as it stands."""
    starts = np.flatnonzero(~_ASCII_SPACES[np.frombuffer(text.encode("ascii"), dtype=np.uint8)])
    return CharacterSpans(starts, starts + 1)


def _summed_spans(text: str, parts: list[str]) -> CharacterSpans:
    """Each character's span for all that it becomes, widened by the marks dropped after it."""
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    unseen = np.flatnonzero((lengths == 0) & (codes != ord(" "))).tolist()
    dropped = [place for place in unseen if not text[place].isspace()]
    starts = np.delete(np.arange(len(parts)), dropped)
    ends = np.append(starts[1:], len(parts))[: len(starts)]  # none in a text of marks alone
    return CharacterSpans(starts.repeat(lengths[starts]), ends.repeat(lengths[starts]))


def _without_spaces(seen: str) -> str:
    return seen.replace(SPACE, "")
