"""`Tokenizer`: text to ids and back, with special tokens and pairs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from litebert.errors import ConfigError, DataError
from litebert.files import path_of, write_bytes
from litebert.manifest import update_manifest
from litebert.tokenization.batch_encoding import (
    BatchEncoding,
    Padding,
    TensorType,
    encode_rows,
    padded,
    tensors,
    texts_and_pairs,
)
from litebert.tokenization.normalize import Span

if TYPE_CHECKING:
    from litebert.tokenization.text_settings import TextSettings
    from litebert.tokenization.tokenizer_directory import SubwordModel

DEFAULT_MAX_LENGTH: Final = 512
"""Tokens after which a call truncates: the positions of the released models."""


@dataclass(frozen=True)
class Encoding:
    """`[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`."""

    input_ids: list[int]
    token_type_ids: list[int]
    """0 up to the first `[SEP]`, 1 after it."""


class Tokenizer:
    """Text to ids and back. Immutable, and safe to share between threads."""

    def __init__(self, model: SubwordModel) -> None:
        self.model = model
        ids = {piece: index for index, piece in enumerate(model.vocabulary)}
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            ids[model.specials[role]] for role in ("pad", "unk", "cls", "sep", "mask")
        )

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """From a tokenizer, model or run directory, a vocabulary file, or a name on the hub.

        A directory that transformers saved has no vocabulary file; the vocabulary in its `tokenizer.json` is read.
        Defaults where `tokenizer_config.json` lacks a key: lower-cased, no accents, digit-comma rule.
        """
        from litebert.tokenization.tokenizer_directory import read_model

        return cls(read_model(path))

    def __call__(
        self,
        text: str | Sequence[str] | Sequence[tuple[str, str]],
        text_pair: str | Sequence[str] | None = None,
        *,
        padding: Padding = False,
        truncation: bool = False,
        max_length: int | None = None,
        return_tensors: TensorType | None = None,
        return_offsets_mapping: bool = False,
    ) -> BatchEncoding:
        """`[CLS] text [SEP]` or `[CLS] text [SEP] text_pair [SEP]` as the tokenizers of transformers return it.

        Args:
            text: one text, or N texts or pairs.
            text_pair: the second text of each.
            padding: True or `longest`: to the longest text; `max_length`: to `max_length`.
            truncation: cut what is longer than `max_length`, as google-research/albert does.
            max_length: in tokens; None: 512.
            return_tensors: `pt`: tensors of torch; `np`: arrays; None: lists.
            return_offsets_mapping: add the character span of each token, (0, 0) for special tokens.
        """
        is_single = isinstance(text, str)
        texts, pairs = texts_and_pairs(text, text_pair)
        limit = (max_length or DEFAULT_MAX_LENGTH) if truncation else None
        rows = encode_rows(self, texts, pairs, max_length=limit, offsets=return_offsets_mapping)
        if is_single and return_tensors is None and not padding:
            return BatchEncoding(rows[0])
        columns = padded(rows, pad_id=self.pad_id, padding=padding, max_length=max_length)
        if return_tensors is None:
            return BatchEncoding({name: each[0] for name, each in columns.items()} if is_single else columns)
        return BatchEncoding(tensors(columns, return_tensors))

    def save(self, directory: Path | str) -> None:
        """Write the tokenizer files into a directory, which may hold other files, and add them to its manifest."""
        files = self.files()
        for name, content in files.items():
            write_bytes(path_of(directory) / name, content)
        update_manifest(path_of(directory), files)

    def files(self, *, max_length: int = DEFAULT_MAX_LENGTH) -> Mapping[str, bytes]:
        """Name → content of the files of a tokenizer directory; `AutoTokenizer` of transformers reads them too.

        `max_length` is the number of tokens to which transformers and transformers.js truncate.
        """
        from litebert.tokenization.tokenizer_directory import tokenizer_files

        return tokenizer_files(self.model, max_length=max_length)

    @property
    def settings(self) -> TextSettings:
        """Text normalization and segmentation."""
        return self.model.settings

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return len(self.model.vocabulary)

    @cached_property
    def word_starts(self) -> np.ndarray:
        """Bool [V]: whether the piece begins a word, in any script; see `word_starts.py`."""
        return self._of_pieces(self.model.starts_word)

    @cached_property
    def google_word_starts(self) -> np.ndarray:
        """Bool [V]: whether the piece begins a word by the rule of google-research/albert, made for English."""
        return self._of_pieces(self.model.starts_google_word)

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal SHA-256 of the vocabulary file and the settings, which together determine the ids."""
        settings = json.dumps(self.settings.to_dict(), sort_keys=True).encode()
        return hashlib.sha256(self.model.file_name.encode() + b"\0" + settings + b"\0" + self.model.content).hexdigest()

    def has_ids_of(self, other: Tokenizer) -> bool:
        """Whether both give the same ids, though the vocabulary files may differ in what has no effect on them.

        transformers saves no vocabulary file: the one that is made of its `tokenizer.json` does not record with which
        settings the original was trained. The fingerprint is the same only if those are the defaults of litebert.
        """
        return self.settings == other.settings and self.model.content_for_ids == other.model.content_for_ids

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without special tokens."""
        return self.model.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, faster."""
        return self.model.encode_batch(texts)

    def encode_pair(self, first: str, second: str | None = None, *, max_length: int = 512) -> Encoding:
        """Ids and token types of one text or a pair, with special tokens, truncated to `max_length` tokens."""
        texts = [first] if second is None else [first, second]
        return self.build_inputs(*self.encode_batch(texts), max_length=max_length)

    def build_inputs(
        self, first: Sequence[int], second: Sequence[int] | None = None, *, max_length: int = 512
    ) -> Encoding:
        """`encode_pair` of texts that are already encoded."""
        specials = 2 if second is None else 3
        if max_length < specials:
            raise ConfigError(f"max_length: {max_length} is less than the {specials} special tokens; give more")
        kept, kept_second = truncated_lengths(len(first), len(second or ()), budget=max_length - specials)
        input_ids = [self.cls_id, *first[:kept], self.sep_id]
        token_type_ids = [0] * len(input_ids)
        if second is not None:
            input_ids += [*second[:kept_second], self.sep_id]
            token_type_ids += [1] * (kept_second + 1)
        return Encoding(input_ids, token_type_ids)

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids of a text and their half-open character spans in it."""
        return self.model.encode_batch_with_offsets([text])[0]

    def encode_batch_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """`encode_with_offsets` of each text, faster."""
        return self.model.encode_batch_with_offsets(texts)

    def pieces(self, text: str) -> list[str]:
        """The pieces of `encode(text)`; an unknown piece is the string of the normalized text."""
        return self.model.pieces(text)

    def id_to_piece(self, index: int) -> str:
        """The piece of an id."""
        return self.model.vocabulary[self._checked(index)]

    def decode(self, ids: Sequence[int]) -> str:
        """Normalized text of ids, without special tokens."""
        return self.model.decode([self._checked(index) for index in ids])

    def _of_pieces(self, predicate: Callable[[str], bool]) -> np.ndarray:
        values = np.array([predicate(piece) for piece in self.model.vocabulary], dtype=bool)
        values.setflags(write=False)
        return values

    def _checked(self, index: int) -> int:
        if not 0 <= index < self.vocab_size:
            raise DataError(f"id {index}: outside the vocabulary; expected 0 to {self.vocab_size - 1}")
        return int(index)


def truncated_lengths(first: int, second: int, *, budget: int) -> tuple[int, int]:
    """Lengths after truncation: the longer segment, on a tie the second, loses its last token until both fit.

    Source: `_truncate_seq_pair` in classifier_utils.py of google-research/albert.
    """
    kept_second = min(second, max(budget // 2, budget - first))
    return min(first, budget - kept_second), kept_second
