"""Texts and pairs of texts → sequences of token ids: truncated, or a long text in several windows.

Importing it loads no torch, so that `litebert.runtime` shares it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.encoded import Encoded, build_feature
from litebert.tasks.labelled_data import Example, training_targets
from litebert.tokenization.normalize import Span
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from litebert.tasks.input_settings import TextInputSettings

NUM_SPECIAL_TOKENS: Final = 2


@dataclass(frozen=True)
class TextWindows(Encoded):
    """One or more windows for each text, each with the target of the text."""

    first_windows: np.ndarray
    """Int64 [N]: the position of the first window of each text."""
    text_lengths: np.ndarray
    """Int64 [N]: tokens of each text with the special tokens."""

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of each text."""
        return self.text_lengths

    def by_example(self, outputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Float32 [C] for each text: the mean of the outputs of its windows."""
        windows = np.split(np.stack(outputs), self.first_windows[1:])
        return [each.mean(0) for each in windows]


def encode_sequences(examples: Sequence[Example], tokenizer: Tokenizer, settings: TextInputSettings) -> Encoded:
    """The sequences of texts as `settings.long_texts` says; DataError for a pair where long texts have windows."""
    if settings.long_texts == "windows":
        return _windows(examples, tokenizer, max_length=settings.max_length)
    return _truncated(examples, tokenizer, max_length=settings.max_length)


def spread_windows(length: int, *, budget: int) -> list[Span]:
    """Half-open spans of the fewest windows of at most `budget` tokens that cover a text of `length` tokens.

    If there are several, all are full and at equal distances, so that none has a few tokens only.
    """
    if length <= budget:
        return [(0, length)]
    last = -(-length // budget) - 1
    starts = [number * (length - budget) // last for number in range(last + 1)]
    return [(start, start + budget) for start in starts]


def _truncated(examples: Sequence[Example], tokenizer: Tokenizer, *, max_length: int) -> Encoded:
    """`[CLS] text [SEP] (pair [SEP])` of each example, truncated to `max_length` as google-research/albert does."""
    firsts = tokenizer.encode_batch([each.text for each in examples])
    seconds = iter(tokenizer.encode_batch([each.text_pair for each in examples if each.text_pair is not None]))
    features = []
    for example, first in zip(examples, firsts, strict=True):
        second = None if example.text_pair is None else next(seconds)
        features.append(build_feature(first, second, tokenizer, max_length=max_length))
    return Encoded(features, training_targets(examples), tokenizer.pad_id)


def _windows(examples: Sequence[Example], tokenizer: Tokenizer, *, max_length: int) -> TextWindows:
    """`[CLS] window [SEP]` of each window of each text."""
    _validate_single_texts(examples)
    features: list[Any] = []
    targets, first_windows, lengths = [], [], []
    texts = tokenizer.encode_batch([each.text for each in examples])
    for target, ids in zip(training_targets(examples), texts, strict=True):
        spans = spread_windows(len(ids), budget=max_length - NUM_SPECIAL_TOKENS)
        first_windows.append(len(features))
        lengths.append(len(ids) + NUM_SPECIAL_TOKENS)
        targets += [target] * len(spans)
        features += [build_feature(ids[start:end], None, tokenizer, max_length=max_length) for start, end in spans]
    counts = (np.array(first_windows, np.int64), np.array(lengths, np.int64))
    return TextWindows(features, targets, tokenizer.pad_id, *counts)


def _validate_single_texts(examples: Sequence[Example]) -> None:
    for number, example in enumerate(examples, start=1):
        if example.text_pair is not None:
            raise DataError(
                f"text {number}: has a second text, but long_texts=windows reads single texts; give one text, or "
                "fine-tune with long_texts=truncate"
            )
