"""A SentencePiece vocabulary with the original's rules around it. Before: `normalize.py`. After: `tokenizer.py`."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import sentencepiece

from litebert.errors import DataError
from litebert.tokenization.normalize import normalize
from litebert.tokenization.offsets import CharacterAligner, CharacterSpans
from litebert.tokenization.sentencepiece_proto import model_type
from litebert.tokenization.subwords import SPACE, Span
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.transformers_files import unigram_tokenizer
from litebert.tokenization.word_starts import original_word_start, word_start

Token = TypeVar("Token", int, str)


class SentencePieceModel:
    """Splits normalised text with SentencePiece, then applies the digit-comma rule if the settings ask for it."""

    file_name: ClassVar[str] = "spiece.model"
    specials: ClassVar[dict[str, str]] = {
        "pad": "<pad>",
        "unk": "<unk>",
        "cls": "[CLS]",
        "sep": "[SEP]",
        "mask": "[MASK]",
    }

    def __init__(self, content: bytes, settings: TextSettings, *, where: str) -> None:
        """Read a serialized SentencePiece model; `where` begins the message of the DataError if it is none."""
        self.content = content
        self.settings = settings
        self._processor, self.vocabulary = _read(content, where=where)
        self.visible = CharacterAligner(self._processor, settings)
        self._lengths = np.array([_visible_length(piece) for piece in self.vocabulary], dtype=np.int64)
        self._split_pieces = self._digit_comma_splits() if settings.digit_comma else {}
        self._split_ids = {
            self._processor.piece_to_id(piece): self._processor.piece_to_id(parts)
            for piece, parts in self._split_pieces.items()
        }

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""
        return self._encode([self._normalize(text) for text in texts])

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, one for each id; unknown characters in a row are one piece, shown as they are."""
        return self._pieces(self._normalize(text))

    def encode_batch_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """Ids, and for each the characters of the original text it stands for; a lone "▁" stands for an empty span."""
        normalized = [self._normalize(text) for text in texts]
        return [
            (ids, _cover(self.visible.spans(text, plain), self._visible_lengths(plain, ids)))
            for text, plain, ids in zip(texts, normalized, self._encode(normalized), strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens; unknown pieces become "⁇"."""
        return self._processor.decode(list(ids))

    def word_starts(self) -> list[bool]:
        """The rule for any script; see `word_starts.py`."""
        return [word_start(piece) for piece in self.vocabulary]

    def original_word_starts(self) -> list[bool]:
        """The original's rule; see `word_starts.py`."""
        return [original_word_start(piece) for piece in self.vocabulary]

    def transformers_tokenizer(self) -> dict[str, Any]:
        """Content of the `tokenizer.json` that gives transformers the same ids."""
        return unigram_tokenizer(self.content, self.settings, self.specials, never=self._split_pieces)

    def _normalize(self, text: str) -> str:
        return normalize(text, lowercase=self.settings.lowercase, keep_accents=self.settings.keep_accents)

    def _encode(self, normalized: list[str]) -> list[list[int]]:
        # For a list SentencePiece starts threads, which takes longer than to encode a short text.
        alone = len(normalized) == 1
        encoded = (
            [self._processor.encode(normalized[0])] if alone else self._processor.encode(normalized, num_threads=1)
        )
        return [_replace(ids, self._split_ids) for ids in encoded]

    def _pieces(self, normalized: str) -> list[str]:
        return _replace(self._processor.encode(normalized, out_type=str), self._split_pieces)

    def _digit_comma_splits(self) -> dict[str, list[str]]:
        """Each piece that ends in a digit and a comma → what the original makes of it.

        The number is encoded anew as if it began a word: "9," gives "▁9" and "," even inside a word, because the
        branch of the original that would take the "▁" away compares bytes with text and never runs.
        Source: `encode_pieces` in the original's tokenization.py.
        """
        numbers = [piece for piece in self.vocabulary if piece.endswith(",") and piece[-2:-1].isdigit()]
        bare = [piece[:-1].replace(SPACE, "") for piece in numbers]
        return {piece: [*parts, ","] for piece, parts in zip(numbers, self._processor.encode(bare, out_type=str))}

    def _visible_lengths(self, normalized: str, ids: list[int]) -> np.ndarray:
        """How many visible characters each piece spells: a look-up, but for unknown ones, which are as they are."""
        indices = np.array(ids, dtype=np.int64)
        if (indices == self._processor.unk_id()).any():
            return np.array([_visible_length(piece) for piece in self._pieces(normalized)], dtype=np.int64)
        return self._lengths[indices]


def _read(content: bytes, *, where: str) -> tuple[sentencepiece.SentencePieceProcessor, tuple[str, ...]]:
    """The model, and its piece for each id."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(content)
        vocabulary = tuple(processor.id_to_piece(list(range(processor.vocab_size()))))
    except (RuntimeError, UnicodeDecodeError):
        raise DataError(f"{where}: not a SentencePiece model, or a damaged one; take a fresh copy") from None
    if (kind := model_type(content)) != "unigram":
        raise DataError(
            f"{where}: a SentencePiece model of type {kind}, expected unigram, as all of ALBERT's are; "
            "train one with `litebert tokenizer train`"
        )
    for piece in SentencePieceModel.specials.values():
        if piece not in vocabulary:
            raise DataError(
                f"{where}: has no piece {piece!r}, which every ALBERT vocabulary needs; "
                "train one with `litebert tokenizer train`"
            )
    return processor, vocabulary


def _replace(tokens: list[Token], splits: dict[Token, list[Token]]) -> list[Token]:
    """Each token that is a key of `splits` replaced by its parts."""
    if splits.keys().isdisjoint(tokens):
        return tokens
    return [part for token in tokens for part in splits.get(token, (token,))]


def _visible_length(piece: str) -> int:
    return len(piece) - piece.count(SPACE)


def _cover(visible: CharacterSpans, lengths: np.ndarray) -> list[Span]:
    """Span of each piece; one of no characters gets an empty span just before the next character.

    Spaces aside, the pieces of a text spell it, so each piece takes its characters from the front of what is left.
    """
    if not len(lengths):
        return []
    stops = lengths.cumsum()
    firsts = stops - lengths
    starts = np.append(visible.starts, visible.ends[-1:] if len(visible.ends) else 0)[firsts]
    ends = np.where(lengths > 0, np.append(visible.ends, 0)[stops - 1], starts)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
