"""Text normalization of google-research/albert, with or without the alignment to the original text.

Source: `preprocess_text` in tokenization.py: collapse white space, NFKD, drop combining marks, lower-case.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

Span = tuple[int, int]
"""Half-open span of characters."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class NormalizedText:
    """A normalized text whose character `i` comes from `original[starts[i]:ends[i]]`."""

    text: str
    starts: np.ndarray
    """Int64 [N], never decreasing."""
    ends: np.ndarray
    """Int64 [N], never decreasing; includes combining marks that were dropped after the character."""


def normalize(text: str, *, lowercase: bool, keep_accents: bool) -> str:
    """The normalized text; a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD."""
    # Most texts have single spaces only; checking that is faster than splitting.
    is_collapsed = text.isascii() and text.isprintable() and "  " not in text
    collapsed = text.strip() if is_collapsed else " ".join(text.split())
    if not collapsed.isascii():
        collapsed = _fold(collapsed, keep_accents=keep_accents)
    return collapsed.lower() if lowercase else collapsed


def normalize_with_alignment(text: str, *, lowercase: bool, keep_accents: bool) -> NormalizedText:
    """`normalize`, with the origin of each character."""
    characters: list[str] = []
    spans: list[Span] = []
    end = width = 0
    for word in _WORD.finditer(text):
        if end:
            characters.append(" ")
            spans.append((end, word.start()))
        end = word.end()
        for position, character in enumerate(word.group(), start=word.start()):
            kept = _fold(character, keep_accents=keep_accents)
            if kept:
                width = len(kept)
            elif position > word.start() and spans[-1:] and spans[-1][1] == position:
                # A dropped mark belongs to the character before it: to all that it became, such as f and i of ﬁ.
                spans[-width:] = [(spans[-1][0], position + 1)] * width
            characters += kept
            spans += [(position, position + 1)] * len(kept)
    folded = "".join(characters)
    # Lower case depends on the context (final sigma), but only the dotted capital I becomes two characters.
    lengths = [len(character.lower()) for character in characters] if lowercase and "\u0130" in folded else 1
    edges = np.array(spans, dtype=np.int64).reshape(-1, 2).repeat(lengths, axis=0)
    return NormalizedText(folded.lower() if lowercase else folded, edges[:, 0], edges[:, 1])


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _fold(text: str, *, keep_accents: bool) -> str:
    """The text without lone surrogates and, unless they are kept, without accents: NFKD without combining marks."""
    text = without_surrogates(text)
    if keep_accents:
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    for mark in filter(unicodedata.combining, set(decomposed)):  # tests each distinct character once
        decomposed = decomposed.replace(mark, "")
    return decomposed
