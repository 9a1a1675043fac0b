"""`SubwordModel`: the interface of a vocabulary, implemented for SentencePiece and WordPiece."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from litebert.tokenization.text_settings import TextSettings

Span = tuple[int, int]
"""Half-open span of characters."""

SPACE = "\u2581"
"""SentencePiece's symbol for the space before a word."""


class SubwordModel(Protocol):
    """A vocabulary and its segmentation; special tokens are never produced from text."""

    file_name: ClassVar[str]
    """Name of the vocabulary file in a tokenizer directory."""

    specials: ClassVar[dict[str, str]]
    """Role ("pad", "unk", "cls", "sep", "mask") → piece."""

    settings: TextSettings
    content: bytes
    """Bytes of the vocabulary file."""

    vocabulary: tuple[str, ...]
    """The piece of each id."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""
        ...

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, one for each id; an unknown piece is the string of the text."""
        ...

    def encode_batch_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """For each text its ids and their character spans in the original text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens."""
        ...

    def word_starts(self) -> list[bool]:
        """For each id whether the piece begins a word, in any script."""
        ...

    def google_word_starts(self) -> list[bool]:
        """For each id whether the piece begins a word by the rule of google-research/albert."""
        ...

    def transformers_tokenizer(self) -> dict[str, Any]:
        """Content of the `tokenizer.json` with which transformers produces the same ids."""
        ...
