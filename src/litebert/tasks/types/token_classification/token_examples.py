"""Sentences as words, encoded so that the first token of each word carries its label.

A sentence too long for the model becomes several sequences, split between words, so that every word is predicted.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch

from litebert.errors import ConfigError
from litebert.model.losses import NO_LABEL
from litebert.tasks.encoded import Feature, Inputs, LabelledBatch, digest, pad
from litebert.tasks.input_settings import InputSettings
from litebert.tokenization.tokenizer import Tokenizer

NUM_SPECIAL_TOKENS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenExample:
    """A sentence as words, each with a label."""

    words: tuple[str, ...]
    target: tuple[int, ...] | None = None
    """Index of each word's label."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The words."""
        return self.words

    @property
    def split_key(self) -> Hashable:
        """Sentences of the same words stay together."""
        return self.words


@dataclass(frozen=True, slots=True)
class WordWindow:
    """A sequence of whole words of one example."""

    example: int
    """Index of the example."""
    feature: Feature
    first_tokens: np.ndarray
    """Int64 [W]: position of the first token of each word."""
    target: tuple[int, ...] | None
    """Label of each word."""


@dataclass(frozen=True)
class TokenSequences:
    """The `Encoded` of token classification: one or more sequences for each example."""

    windows: Sequence[WordWindow]
    num_words: Sequence[int]
    """Words of each example."""
    pad_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens."""
        return np.array([len(window.feature.input_ids) for window in self.windows], dtype=np.int64)

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: words of each example."""
        return np.array(self.num_words)

    @property
    def num_examples(self) -> int:
        """Sentences."""
        return len(self.num_words)

    @property
    def fingerprint(self) -> str:
        """Digest of ids and labels."""
        return digest((each.feature for each in self.windows), (each.target for each in self.windows))

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.windows)

    def inputs(self, indices: np.ndarray) -> Inputs:
        """The sequences at `indices`, padded to [B, S]."""
        return pad([self.windows[index].feature for index in indices], pad_id=self.pad_id)

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Labels are Int64 [B, S], -100 except at the first token of each word."""
        inputs = self.inputs(indices)
        labels = torch.full_like(inputs.input_ids, NO_LABEL)
        for row, index in enumerate(indices):
            window = self.windows[index]
            labels[row, torch.from_numpy(window.first_tokens)] = torch.tensor(window.target)
        return LabelledBatch(inputs, labels, num_tokens=int(self.lengths[indices].sum()))

    def by_example(self, outputs: Sequence[Any]) -> Sequence[np.ndarray]:
        """[W, C] for each example, from [S, C] for each sequence: the outputs at the first tokens of its words."""
        words: list[list[np.ndarray]] = [[] for _ in self.num_words]
        for window, output in zip(self.windows, outputs, strict=True):
            words[window.example].append(output[window.first_tokens])
        return [np.concatenate(each) for each in words]


def encode_words(examples: Sequence[TokenExample], tokenizer: Tokenizer, settings: InputSettings) -> TokenSequences:
    """`[CLS] words [SEP]` of each example, in several sequences if it is too long."""
    budget = settings.max_length - NUM_SPECIAL_TOKENS
    if budget < 1:
        raise ConfigError(f"max_length: {settings.max_length} is too short for a word; set it to 3 or more")
    ids = iter(tokenizer.encode_batch([word for each in examples for word in each.words]))
    windows: list[WordWindow] = []
    for index, each in enumerate(examples):
        # A word from which the tokenizer makes no token still needs a prediction.
        words = [next(ids)[:budget] or [tokenizer.unk_id] for _ in each.words]
        for start, end in _split([len(word) for word in words], budget=budget):
            target = None if each.target is None else each.target[start:end]
            windows.append(_window(index, words[start:end], target, tokenizer))
    return TokenSequences(windows, [len(each.words) for each in examples], tokenizer.pad_id)


def _split(lengths: Sequence[int], *, budget: int) -> Iterator[tuple[int, int]]:
    """Half-open spans of words that fit into `budget` tokens each."""
    start, used = 0, 0
    for index, length in enumerate(lengths):
        if used + length > budget:
            yield start, index
            start, used = index, 0
        used += length
    yield start, len(lengths)


def _window(
    example: int, words: Sequence[list[int]], target: tuple[int, ...] | None, tokenizer: Tokenizer
) -> WordWindow:
    ids = [tokenizer.cls_id, *(token for word in words for token in word), tokenizer.sep_id]
    first_tokens = 1 + np.cumsum([0, *(len(word) for word in words[:-1])])
    feature = Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8))
    return WordWindow(example, feature, first_tokens, target)
