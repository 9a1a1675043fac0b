"""Texts and hypothesis strategies for tests of tokenization."""

import tarfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import strategies

SHARED = Path(__file__).parents[3].parent / "shared"
RELEASED_VOCABULARY = SHARED / "data" / "albert_vocab" / "30k-clean.model"

_ODD_CHARACTERS = "aZ 9,.–½ﬁ①Σİéß\u0301\t\u00a0\u200b¨ﷺ한カ\u3099▁😀\ud800\0"


def number_texts() -> list[str]:
    """Sentences in which years are followed by commas, so that the vocabulary has pieces such as "▁1999,"."""
    places = ("the café", "a small house", "the naïve garden", "our (old) street", 'my "new" school')
    years = range(1990, 2020)
    return [f"In {year}, {place} was {year + 3}, or 12,{year} steps away." for place in places for year in years]


def odd_texts() -> strategies.SearchStrategy[str]:
    """Short texts of any characters, among them difficult ones for normalization."""
    return strategies.text(strategies.sampled_from(_ODD_CHARACTERS) | strategies.characters(), max_size=16)


def number_like_texts() -> strategies.SearchStrategy[str]:
    """Digits, commas, spaces and letters in any order."""
    words = strategies.sampled_from(("1999,", "2010,", "in", "9", ",", "12,", "street", ".", "1998", "x", " "))
    return strategies.lists(words, max_size=8).map("".join)


def texts_of_scripts() -> strategies.SearchStrategy[str]:
    """Words of many scripts, with their difficulties: marks, ligatures, full width, right to left, joined emoji."""
    words = (
        *("cafe\u0301", "naïve", "a\u0327\u0301", "İstanbul", "ΣΊΣΥΦΟΣ", "ǅ", "ﬁnally", "ﬃ", "½", "①", "…"),
        *("ＦＵＬＬ１２", "ｶﾞ", "我们", "한국어", "\u1112\u1161\u11ab", "हिन्दी", "ภาษาไทย"),
        *("שָׁלוֹם", "مُحَمَّد", "لا", "ﷺ", "\u200fabc\u200e"),
        *("👩\u200d👩\u200d👧", "🇫🇷", "👍🏽", "❤\ufe0f"),
        *(" ", "\u3000", "\n"),
    )
    return strategies.lists(strategies.sampled_from(words), max_size=8).map("".join)


def lines_of_books(count: int) -> list[str]:
    """Lines of books beside the repository; without them the test is skipped."""
    archive = SHARED / "data" / "pretrain.tar.xz"
    if not archive.is_file():
        pytest.skip("the books are not here")
    with tarfile.open(archive, "r|xz") as members:
        files = (members.extractfile(member) for member in members if "/books" in f"/{member.name}" and member.isfile())
        lines = (line.decode("utf-8").strip() for file in files if file for line in file)
        return list(islice(filter(None, lines), count))
