"""Which pieces begin a word, for whole-word masking. Before: a vocabulary. After: `corpus` masks whole words.

A word is a start piece and the pieces after it that are none. Two rules: the original's, and one for any script.
"""

import string
import unicodedata

from litebert.tokenization.subwords import SPACE

_ORIGINAL_PUNCTUATION = frozenset(string.punctuation) - frozenset("'<=>")
_ORIGINAL_CONTINUATION = _ORIGINAL_PUNCTUATION | frozenset(string.ascii_lowercase)

_UNSPACED_SCRIPTS = (
    "CJK ",
    "IDEOGRAPHIC ",
    "HIRAGANA ",
    "KATAKANA",
    "HALFWIDTH KATAKANA ",
    "BOPOMOFO ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
    "TIBETAN ",
)
"""How the Unicode names of characters begin in scripts that put no space between words."""


def original_word_start(piece: str) -> bool:
    """The original's rule: of the pieces without "▁", only lower-case English letters and punctuation go on a word.

    Digits, apostrophes and letters with accents or of other scripts always begin one; several signs in a row do not.
    Source: `is_start_piece_sp` in the original's create_pretraining_data.py.
    """
    if piece.startswith((SPACE, "<")) or piece in _ORIGINAL_PUNCTUATION:
        return True
    return not _ORIGINAL_CONTINUATION.issuperset(piece)


def word_start(piece: str) -> bool:
    """The rule for any script: a piece goes on a word only if it begins with a letter or mark of a spaced script.

    So "▁…", digits, signs, and every piece in a script that puts no space between words begin one.
    """
    first = piece[0]
    if unicodedata.category(first)[0] not in "LM":
        return True
    return unicodedata.name(first, "").startswith(_UNSPACED_SCRIPTS)
