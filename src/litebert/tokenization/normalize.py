"""Text normalization of google-research/albert, with or without the alignment to the original text.

Source: `preprocess_text` in tokenization.py: collapse white space, NFKD, drop combining marks, lower-case.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

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
        collapsed = without_surrogates(collapsed)
        if not keep_accents:
            collapsed = _without_accents(collapsed)
    return collapsed.lower() if lowercase else collapsed


def normalize_with_alignment(text: str, *, lowercase: bool, keep_accents: bool) -> NormalizedText:
    """`normalize`, with the origin of each character."""
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    space_start = 0
    for word in _WORD.finditer(text):
        if space_start > 0:
            characters.append(" ")
            starts.append(space_start)
            ends.append(word.start())
        space_start = word.end()
        if word.group().isascii():
            characters += word.group()
            starts += range(word.start(), word.end())
            ends += range(word.start() + 1, word.end() + 1)
        else:
            _append(word, characters, starts, ends, keep_accents=keep_accents)
    if lowercase:
        return _lowercase(characters, starts, ends)
    return NormalizedText("".join(characters), np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _append(
    word: re.Match[str], characters: list[str], starts: list[int], ends: list[int], *, keep_accents: bool
) -> None:
    """Append the normalized characters of a word; a dropped mark extends the span of the character before it."""
    for position, character in enumerate(word.group(), start=word.start()):
        kept = normalize(character, lowercase=False, keep_accents=keep_accents)
        characters += kept
        starts += [position] * len(kept)
        ends += [position + 1] * len(kept)
        if not kept and position > word.start() and ends and ends[-1] == position:
            ends[-1] = position + 1


def _without_accents(text: str) -> str:
    """NFKD without combining marks; tests each distinct character once."""
    decomposed = unicodedata.normalize("NFKD", text)
    for mark in filter(unicodedata.combining, set(decomposed)):
        decomposed = decomposed.replace(mark, "")
    return decomposed


def _lowercase(characters: list[str], starts: list[int], ends: list[int]) -> NormalizedText:
    """Lower-case in context (final sigma); only the dotted capital I becomes two characters."""
    text = "".join(characters)
    lengths = [len(character.lower()) for character in characters] if "\u0130" in text else 1
    return NormalizedText(text.lower(), np.repeat(starts, lengths), np.repeat(ends, lengths))
