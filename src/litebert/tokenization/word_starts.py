"""Which pieces begin a word, for whole-word masking: by the rule of google-research/albert, and for any script.

A word is a start piece and the following pieces that are not start pieces.
"""

import string
import unicodedata

SPACE = "\u2581"
"""SentencePiece's symbol for the space before a word."""

_GOOGLE_PUNCTUATION = frozenset(string.punctuation) - frozenset("'<=>")
_GOOGLE_CONTINUATION = _GOOGLE_PUNCTUATION | frozenset(string.ascii_lowercase)

_UNSPACED_SCRIPTS = (
    *("CJK ", "IDEOGRAPHIC ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA ", "BOPOMOFO "),
    *("THAI ", "LAO ", "KHMER ", "MYANMAR ", "TIBETAN "),
)
"""Prefixes of the Unicode character names of scripts without spaces between words."""


def google_word_start(piece: str) -> bool:
    """The rule of google-research/albert: a piece without "▁" continues a word only if it has English letters or signs.

    Digits, apostrophes and letters with accents or of other scripts begin a word; several punctuation signs do not.
    Source: `is_start_piece_sp` in create_pretraining_data.py.
    """
    if piece.startswith((SPACE, "<")) or piece in _GOOGLE_PUNCTUATION:
        return True
    return not _GOOGLE_CONTINUATION.issuperset(piece)


def word_start(piece: str) -> bool:
    """The rule for any script: a piece continues a word only if it begins with a letter or mark of a spaced script.

    "▁…", digits, signs, and every piece in a script without spaces between words begin a word.
    """
    first = piece[0]
    if unicodedata.category(first)[0] not in "LM":
        return True
    return unicodedata.name(first, "").startswith(_UNSPACED_SCRIPTS)
