"""The original's text normaliser, with and without a way back. Before: raw text. After: `sentencepiece_model.py`.

Source: `preprocess_text` in the original's tokenization.py: collapse white space, NFKD, drop combining marks, lower.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class NormalizedText:
    """A normalised text whose character `i` comes from `original[starts[i]:ends[i]]`."""

    text: str
    starts: np.ndarray
    """Int64 [N], never decreasing."""
    ends: np.ndarray
    """Int64 [N], never decreasing; includes the combining marks that were dropped after the character."""


def normalize(text: str, *, lowercase: bool, keep_accents: bool) -> str:
    """The text as the vocabulary sees it; a lone surrogate, which no encoding can express, becomes U+FFFD."""
    collapsed = " ".join(text.split())
    if not collapsed.isascii():
        collapsed = _SURROGATE.sub("\ufffd", collapsed)
        if not keep_accents:
            collapsed = _without_accents(collapsed)
    return collapsed.lower() if lowercase else collapsed


def normalize_with_alignment(text: str, *, lowercase: bool, keep_accents: bool) -> NormalizedText:
    """What `normalize` gives, and where each of its characters comes from."""
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    space_start = 0
    for word in _WORD.finditer(text):
        if word.start() > space_start and space_start > 0:
            characters.append(" ")
            spans.append((space_start, word.start()))
        for position, character in enumerate(word.group(), start=word.start()):
            kept = normalize(character, lowercase=False, keep_accents=keep_accents)
            characters += kept
            spans += [(position, position + 1)] * len(kept)
            if not kept and spans and spans[-1][1] == position and position > word.start():
                spans[-1] = (spans[-1][0], position + 1)
        space_start = word.end()
    if lowercase:
        characters, spans = _lowered(characters, spans)
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return NormalizedText("".join(characters), starts, ends)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _lowered(characters: list[str], spans: list[tuple[int, int]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Lower-case in context (a final sigma is another letter); only the dotted capital I becomes two characters."""
    lengths = [len(character.lower()) for character in characters]
    repeated = [span for span, length in zip(spans, lengths, strict=True) for _ in range(length)]
    return list("".join(characters).lower()), repeated
