"""A SentencePiece vocabulary with the rules of google-research/albert."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import sentencepiece

from litebert.errors import DataError
from litebert.protobuf_wire import DamagedBytesError
from litebert.tokenization.normalize import Span, normalize_with_alignment
from litebert.tokenization.sentencepiece_proto import ModelFile, model_type, parse_model, serialize_model
from litebert.tokenization.transformers_files import unigram_tokenizer
from litebert.tokenization.word_starts import SPACE, google_word_start, word_start

if TYPE_CHECKING:
    from litebert.tokenization.text_settings import TextSettings


Token = TypeVar("Token", int, str)

_ASCII_SPACES = np.array([chr(code).isspace() for code in range(128)])

_CONTEXT_DEPENDENT = "\ud800"
"""Result for a character whose normal form depends on its context; no normalized text holds it, so the check fails."""


SPECIALS = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
"""Role → piece."""


class SentencePieceModel:
    """Splits normalized text with SentencePiece, then applies the digit-comma rule if the settings say so.

    Special tokens are never produced from text.
    """

    file_name: ClassVar[str] = "spiece.model"
    specials: ClassVar[dict[str, str]] = SPECIALS
    starts_word = staticmethod(word_start)
    starts_google_word = staticmethod(google_word_start)

    def __init__(self, content: bytes, settings: TextSettings, *, where: str) -> None:
        """Read a serialized SentencePiece model; raises DataError, which begins with `where`."""
        self.content = content
        self.settings = settings
        self._where = where
        self._processor, self.vocabulary = _read(content, where=where)
        self.aligner = CharacterAligner(self._processor, settings)
        self._lengths = np.array([_piece_length(piece) for piece in self.vocabulary], dtype=np.int64)
        self._split_pieces = self._digit_comma_splits() if settings.digit_comma else {}
        self._split_ids = {
            self._processor.piece_to_id(piece): self._processor.piece_to_id(parts)
            for piece, parts in self._split_pieces.items()
        }

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""
        return self._encode([self.settings.normalize(text) for text in texts])

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, one for each id; consecutive unknown characters are one piece, as in the text."""
        return _replace(self._processor.encode(self.settings.normalize(text), out_type=str), self._split_pieces)

    def encode_batch_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """Ids and their character spans in the original text; the span of a lone "▁" is empty."""
        normalized = [self.settings.normalize(text) for text in texts]
        return [
            (ids, _piece_spans(self.aligner.spans(text, plain), self._piece_lengths(text, ids)))
            for text, plain, ids in zip(texts, normalized, self._encode(normalized), strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, without special tokens; unknown pieces become "⁇"."""
        return self._processor.decode(list(ids))

    @property
    def content_for_ids(self) -> bytes:
        """`content` without settings of the training, which have no effect on ids."""
        return serialize_model(self._model_file(), unk=self.specials["unk"], pad=self.specials["pad"])

    def transformers_tokenizer(self) -> dict[str, Any]:
        """Content of the `tokenizer.json` with which transformers produces the same ids."""
        return unigram_tokenizer(self._model_file(), self.settings, self.specials, never=self._split_pieces)

    def _model_file(self) -> ModelFile:
        try:
            return parse_model(self.content)
        except DamagedBytesError as error:
            raise DataError(f"{self._where}: a damaged SentencePiece model ({error}); take a fresh copy") from None

    def _encode(self, normalized: list[str]) -> list[list[int]]:
        if len(normalized) <= 1:  # for a list SentencePiece starts a thread, which is slower than encoding a short text
            encoded = [self._processor.encode(text) for text in normalized]
        else:
            encoded = self._processor.encode(normalized, num_threads=1)
        return [_replace(ids, self._split_ids) for ids in encoded]

    def _digit_comma_splits(self) -> dict[str, list[str]]:
        """Each piece that ends in a digit and a comma → its parts.

        The number is encoded again as if it began a word: "9," gives "▁9" and "," even inside a word, because the
        branch of google-research/albert that would remove the "▁" compares bytes with text and never runs.
        Source: `encode_pieces` in tokenization.py.
        """
        numbers = [piece for piece in self.vocabulary if piece.endswith(",") and piece[-2:-1].isdigit()]
        bare = [piece[:-1].replace(SPACE, "") for piece in numbers]
        return {piece: [*parts, ","] for piece, parts in zip(numbers, self._processor.encode(bare, out_type=str))}

    def _piece_lengths(self, text: str, ids: list[int]) -> np.ndarray:
        """Number of characters, without spaces, of each piece; unknown pieces are taken from the text."""
        indices = np.array(ids, dtype=np.int64)
        if (indices == self._processor.unk_id()).any():
            return np.array([_piece_length(piece) for piece in self.pieces(text)], dtype=np.int64)
        return self._lengths[indices]


class CharacterSpans(NamedTuple):
    """Int64 [N] each, never decreasing: the i-th character that is not a space is `original[starts[i]:ends[i]]`."""

    starts: np.ndarray
    ends: np.ndarray


class CharacterAligner(dict[str, str]):
    """Aligns the characters that SentencePiece encodes with the text. A cache: character → its normalized characters.

    The exact alignment follows every character through both normalizers and is slow. Nearly every text normalizes to
    the concatenation of its normalized characters, and then the alignment follows from a table: this is tried first,
    and verified.
    """

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, settings: TextSettings) -> None:
        super().__init__()
        self._processor = processor
        self._settings = settings

    def __missing__(self, character: str) -> str:
        normalized = self._settings.normalize(character)
        encoded = self._processor.normalize(normalized)
        is_dropped_mark = not normalized and not character.isspace()
        is_plain = bool(encoded) and SPACE not in encoded.removeprefix(SPACE)
        # A character that SentencePiece drops or turns into a space changes the spans of its neighbours.
        is_independent = is_plain or is_dropped_mark or character.isspace()
        self[character] = encoded.replace(SPACE, "") if is_independent else _CONTEXT_DEPENDENT
        return self[character]

    def spans(self, text: str, normalized: str) -> CharacterSpans:
        """Spans in `text` of the characters of `normalized`, its normal form."""
        encoded = self._processor.normalize(normalized).replace(SPACE, "")
        if text.isascii() and encoded == normalized.replace(" ", ""):
            starts = np.flatnonzero(~_ASCII_SPACES[np.frombuffer(text.encode("ascii"), dtype=np.uint8)])
            return CharacterSpans(starts, starts + 1)
        parts = list(map(self.__getitem__, text))
        return _concatenated_spans(text, parts) if encoded == "".join(parts) else self.exact_spans(text)

    def exact_spans(self, text: str) -> CharacterSpans:
        """`spans`, without the table."""
        settings = self._settings
        aligned = normalize_with_alignment(text, lowercase=settings.lowercase, keep_accents=settings.keep_accents)
        encoded, positions = self._processor.normalize(aligned.text, with_offsets=True)
        edges = np.array(positions, dtype=np.int64)
        begin = edges[: len(encoded)]
        end = edges[np.searchsorted(edges, begin, side="right").clip(max=len(encoded))]
        keep = np.array([character != SPACE for character in encoded], dtype=bool)
        return CharacterSpans(aligned.starts[begin[keep]], aligned.ends[end[keep] - 1])


def _concatenated_spans(text: str, parts: list[str]) -> CharacterSpans:
    """The span of each character for all of its normalized characters, extended by marks dropped after it."""
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    empty = np.flatnonzero((lengths == 0) & (codes != ord(" "))).tolist()
    dropped = [position for position in empty if not text[position].isspace()]
    starts = np.delete(np.arange(len(parts)), dropped)
    ends = np.append(starts[1:], len(parts))[: len(starts)]  # empty for a text of marks alone
    return CharacterSpans(starts.repeat(lengths[starts]), ends.repeat(lengths[starts]))


def _read(content: bytes, *, where: str) -> tuple[sentencepiece.SentencePieceProcessor, tuple[str, ...]]:
    """The processor, and the piece of each id."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(content)
        vocabulary = tuple(processor.id_to_piece(list(range(processor.vocab_size()))))
        kind = model_type(content)
    except (RuntimeError, UnicodeDecodeError, DamagedBytesError):
        raise DataError(f"{where}: not a SentencePiece model, or a damaged one; take a fresh copy") from None
    problems = [
        f"has no piece {piece!r}, which every ALBERT vocabulary needs"
        for piece in SPECIALS.values()
        if piece not in vocabulary
    ]
    if kind != "unigram":
        problems = [f"a SentencePiece model of type {kind}, expected unigram, as all of ALBERT's are"]
    if problems:
        raise DataError(f"{where}: {problems[0]}; train one with `litebert tokenizer train`")
    return processor, vocabulary


def _replace(tokens: list[Token], splits: dict[Token, list[Token]]) -> list[Token]:
    """`tokens` with each key of `splits` replaced by its parts."""
    if splits.keys().isdisjoint(tokens):
        return tokens
    return [part for token in tokens for part in splits.get(token, (token,))]


def _piece_length(piece: str) -> int:
    return len(piece) - piece.count(SPACE)


def _piece_spans(characters: CharacterSpans, lengths: np.ndarray) -> list[Span]:
    """Span of each piece; a piece without characters has an empty span before the next character.

    Without spaces the concatenated pieces are the text, so each piece takes the next `lengths[i]` characters.
    """
    if not len(lengths):
        return []
    stops = lengths.cumsum()
    firsts = stops - lengths
    starts = np.append(characters.starts, characters.ends[-1:] if len(characters.ends) else 0)[firsts]
    ends = np.where(lengths > 0, np.append(characters.ends, 0)[stops - 1], starts)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
