"""A SentencePiece vocabulary with the original's rules around it. Before: `normalize.py`. After: `tokenizer.py`."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import sentencepiece

from litebert.errors import DataError
from litebert.tokenization.normalize import normalize, normalize_with_alignment
from litebert.tokenization.settings import TextSettings
from litebert.tokenization.subwords import SPACE, Span
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
        self._split_pieces = self._digit_comma_splits() if settings.digit_comma else {}
        self._split_ids = {
            self._processor.piece_to_id(piece): self._processor.piece_to_id(parts)
            for piece, parts in self._split_pieces.items()
        }

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""
        encoded = self._processor.encode([self._normalize(text) for text in texts], num_threads=1)
        return [_replace(ids, self._split_ids) for ids in encoded]

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, one for each id; unknown characters in a row are one piece, shown as they are."""
        return _replace(self._processor.encode(self._normalize(text), out_type=str), self._split_pieces)

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids, and for each the characters of the original text it stands for; a lone "▁" stands for an empty span.

        Spaces aside, the pieces of a text spell it, so each piece takes its characters from the front of what is left.
        """
        pieces = self.pieces(text)
        starts, ends = self._visible_spans(text)
        offsets: list[Span] = []
        taken = 0
        for piece in pieces:
            length = len(piece.replace(SPACE, ""))
            offsets.append(_cover(starts, ends, taken, taken + length))
            taken += length
        return self.encode_batch([text])[0], offsets

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
        return unigram_tokenizer(self.content, self.settings, self.specials)

    def _normalize(self, text: str) -> str:
        return normalize(text, lowercase=self.settings.lowercase, keep_accents=self.settings.keep_accents)

    def _digit_comma_splits(self) -> dict[str, list[str]]:
        """Each piece that ends in a digit and a comma → what the original makes of it.

        The number is encoded anew as if it began a word: "9," gives "▁9" and "," even inside a word, because the
        branch of the original that would take the "▁" away compares bytes with text and never runs.
        Source: `encode_pieces` in the original's tokenization.py.
        """
        numbers = [piece for piece in self.vocabulary if piece.endswith(",") and piece[-2:-1].isdigit()]
        bare = [piece[:-1].replace(SPACE, "") for piece in numbers]
        return {piece: [*parts, ","] for piece, parts in zip(numbers, self._processor.encode(bare, out_type=str))}

    def _visible_spans(self, text: str) -> tuple[list[int], list[int]]:
        """Spans in the original text of the characters that SentencePiece sees, spaces left out."""
        aligned = normalize_with_alignment(
            text, lowercase=self.settings.lowercase, keep_accents=self.settings.keep_accents
        )
        seen, positions = self._processor.normalize(aligned.text, with_offsets=True)
        edges = np.array(positions, dtype=np.int64)
        begin = edges[: len(seen)]
        end = edges[np.searchsorted(edges, begin, side="right").clip(max=len(seen))]
        visible = np.array([character != SPACE for character in seen], dtype=bool)
        return aligned.starts[begin[visible]].tolist(), aligned.ends[end[visible] - 1].tolist()


def _read(content: bytes, *, where: str) -> tuple[sentencepiece.SentencePieceProcessor, tuple[str, ...]]:
    """The model, and its piece for each id."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(content)
        vocabulary = tuple(processor.id_to_piece(list(range(processor.vocab_size()))))
    except (RuntimeError, UnicodeDecodeError):
        raise DataError(f"{where}: not a SentencePiece model, or a damaged one; take a fresh copy") from None
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


def _cover(starts: list[int], ends: list[int], first: int, stop: int) -> Span:
    """Span that covers the characters `first` to `stop`; an empty one just before `first` if there are none."""
    if first < stop:
        return starts[first], ends[stop - 1]
    edge = starts[first] if first < len(starts) else ends[-1] if ends else 0
    return edge, edge
