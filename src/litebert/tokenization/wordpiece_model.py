"""A WordPiece vocabulary (`vocab.txt`), as the Chinese ALBERT models have.

Text is split as in BERT by the `tokenizers` library, with the pipeline that is written for transformers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from litebert.errors import DataError, import_extra
from litebert.tokenization.normalize import Span, without_surrogates
from litebert.tokenization.transformers_files import pipeline

if TYPE_CHECKING:
    from litebert.tokenization.text_settings import TextSettings


CONTINUATION = "##"
"""Prefix of a piece that continues a word."""

_LONGEST_WORD = 200
"""Characters; a longer word is unknown. Source: `WordpieceTokenizer` of google-research/albert."""


class WordPieceModel:
    """Splits text into words, signs and single Chinese characters, and words greedily into the longest pieces."""

    file_name: ClassVar[str] = "vocab.txt"
    specials: ClassVar[dict[str, str]] = {role: f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}

    def __init__(self, content: bytes, settings: TextSettings, *, where: str) -> None:
        """Read a vocabulary, one piece a line; raises DataError, which begins with `where`."""
        tokenizers = import_extra("tokenizers", extra="hf", needed_for=f"{where}: a WordPiece vocabulary")
        self.content = self.content_for_ids = content
        self.settings = settings.replace(digit_comma=False)
        self.vocabulary = _vocabulary(content, where=where, specials=self.specials)
        steps = {**self.transformers_tokenizer(), "added_tokens": [], "post_processor": None}
        self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(steps))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""
        encoded = self._tokenizer.encode_batch_fast([without_surrogates(text) for text in texts])
        return [encoding.ids for encoding in encoded]

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, one for each id; an unknown piece is the string of the text."""
        encoding = self._tokenizer.encode(without_surrogates(text))
        unknown = self.specials["unk"]
        return [
            text[start:end] if piece == unknown else piece
            for piece, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        ]

    def encode_batch_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """For each text its ids and their character spans in the original text."""
        encoded = self._tokenizer.encode_batch([without_surrogates(text) for text in texts])
        return [(encoding.ids, encoding.offsets) for encoding in encoded]

    def decode(self, ids: Sequence[int]) -> str:
        """Words separated by spaces, without special tokens."""
        skipped = set(self.specials.values()) - {self.specials["unk"]}
        return self._tokenizer.decode([index for index in ids if self.vocabulary[index] not in skipped])

    @staticmethod
    def starts_word(piece: str) -> bool:
        """Whether a piece begins a word: if it does not begin with "##"."""
        return not piece.startswith(CONTINUATION)

    starts_google_word = starts_word

    def transformers_tokenizer(self) -> dict[str, Any]:
        """Content of the `tokenizer.json` with which transformers produces the same ids."""
        ids = {piece: index for index, piece in enumerate(self.vocabulary)}
        strip_accents = self.settings.lowercase and not self.settings.keep_accents
        return pipeline(
            ids,
            self.specials,
            normalizer={
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": strip_accents,
                "lowercase": self.settings.lowercase,
            },
            pre_tokenizer={"type": "BertPreTokenizer"},
            decoder={"type": "WordPiece", "prefix": CONTINUATION, "cleanup": False},
            model={
                "type": "WordPiece",
                "unk_token": self.specials["unk"],
                "continuing_subword_prefix": CONTINUATION,
                "max_input_chars_per_word": _LONGEST_WORD,
                "vocab": ids,
            },
        )


def _vocabulary(content: bytes, *, where: str, specials: dict[str, str]) -> tuple[str, ...]:
    try:
        pieces = tuple(line.rstrip("\r") for line in content.decode("utf-8").removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        raise DataError(f"{where}: not UTF-8 text, so not a WordPiece vocabulary; take a fresh copy") from None
    if missing := [piece for piece in specials.values() if piece not in pieces]:
        raise DataError(f"{where}: has no piece {missing[0]!r}, so it is not a WordPiece vocabulary; give a vocab.txt")
    if len(set(pieces)) < len(pieces):
        twice = next(piece for index, piece in enumerate(pieces) if piece in pieces[:index])
        raise DataError(f"{where}: holds the piece {twice!r} twice; take a fresh copy")
    return pieces
