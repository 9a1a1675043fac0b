"""Sentences as words, encoded so that the first token of each word carries its label.

A sentence too long for the model becomes several sequences, split between words, so that every word is predicted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from litebert.errors import ConfigError
from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.labelled_data import normalized_text
from litebert.tasks.word_spans import word_spans
from litebert.tokenization.normalize import Span
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from litebert.model.model_inputs import ModelInputs
    from litebert.tasks.input_settings import InputSettings


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
    text: str | None = None
    """The running text whose words these are; None for a list of words."""

    @classmethod
    def of_text(cls, text: str) -> Self:
        """The words of a running text, possibly none."""
        return cls(words=tuple(text[start:end] for start, end in word_spans(text)), text=text)

    @property
    def word_spans(self) -> list[Span]:
        """Where the words are: in the characters of the text, or in the list of words."""
        return [(index, index + 1) for index in range(len(self.words))] if self.text is None else word_spans(self.text)

    def part(self, start: int, end: int) -> str:
        """The characters of the text, or the words of the list, from `start` to before `end`."""
        return " ".join(self.words[start:end]) if self.text is None else self.text[start:end]

    @property
    def texts(self) -> tuple[str, ...]:
        """The words."""
        return self.words

    @property
    def identity(self) -> tuple[Any, ...]:
        """Words and labels."""
        return *self.texts, self.target

    @property
    def split_key(self) -> Hashable:
        """Sentences of the same words stay together, as far as an uncased model reads."""
        return tuple(map(normalized_text, self.words))


@dataclass(frozen=True)
class TokenSequences(Encoded):
    """One or more sequences of whole words for each example."""

    words: Sequence[tuple[int, np.ndarray]]
    """Of each sequence: index of its example, and Int64 [W], position of the first token of each word."""
    num_words: Sequence[int]
    """Words of each example."""

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: words of each example."""
        return np.array(self.num_words)

    def labels(self, indices: np.ndarray, inputs: ModelInputs) -> Tensor:
        """Int64 [B, S], -100 except at the first token of each word."""
        import torch

        from litebert.model.losses import NO_LABEL

        labels = torch.full_like(inputs.input_ids, NO_LABEL)
        for row, index in enumerate(indices):
            labels[row, torch.from_numpy(self.words[index][1])] = torch.tensor(self.targets[index], dtype=labels.dtype)
        return labels

    def by_example(self, outputs: Sequence[Any]) -> Sequence[np.ndarray]:
        """[W, C] for each example, from [S, C] for each sequence: the outputs at the first tokens of its words."""
        words: list[list[np.ndarray]] = [[] for _ in self.num_words]
        for (example, first_tokens), output in zip(self.words, outputs, strict=True):
            words[example].append(output[first_tokens])
        return [np.concatenate(each) for each in words]


def encode_words(examples: Sequence[TokenExample], tokenizer: Tokenizer, settings: InputSettings) -> TokenSequences:
    """`[CLS] words [SEP]` of each example, in several sequences if it is too long, in one if it has no words."""
    budget = settings.max_length - NUM_SPECIAL_TOKENS
    if budget < 1:
        raise ConfigError(f"max_length: {settings.max_length} is too short for a word; set it to 3 or more")
    ids = iter(tokenizer.encode_batch([word for each in examples for word in each.words]))
    features, targets, positions = [], [], []
    for index, each in enumerate(examples):
        # A word from which the tokenizer makes no token still needs a prediction.
        words = [next(ids)[:budget] or [tokenizer.unk_id] for _ in each.words]
        lengths = [len(word) for word in words]
        for start, end in _split(lengths, budget=budget):
            sequence = [tokenizer.cls_id, *chain.from_iterable(words[start:end]), tokenizer.sep_id]
            features.append(Feature(np.array(sequence, np.int32), np.zeros(len(sequence), np.int8)))
            targets.append(None if each.target is None else each.target[start:end])
            positions.append((index, 1 + np.cumsum([0, *lengths[start:end]])[:-1]))
    return TokenSequences(features, targets, tokenizer.pad_id, positions, [len(each.words) for each in examples])


def _split(lengths: Sequence[int], *, budget: int) -> Iterator[tuple[int, int]]:
    """Half-open spans of words that fit into `budget` tokens each."""
    start, used = 0, 0
    for index, length in enumerate(lengths):
        if used + length > budget:
            yield start, index
            start, used = index, 0
        used += length
    yield start, len(lengths)
