"""Sentences with a label for each word, as the model reads them. Before: `labelled`, a tokenizer. After: `kinds`.

The first piece of a word carries its label. A sentence too long for the model becomes several sequences, cut between
words, so that every word is answered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from torch import nn

from litebert.errors import ConfigError
from litebert.model.losses import NO_LABEL
from litebert.tasks.encoded import digest
from litebert.tasks.features import Feature, Inputs, LabelledBatch, pad
from litebert.tasks.labelled_data import TaggedExample
from litebert.tokenization.tokenizer import Tokenizer

SPECIALS: Final = 2


@dataclass(frozen=True, slots=True)
class WordWindow:
    """A sequence of whole words out of one example."""

    example: int
    """Index of the example."""
    feature: Feature
    firsts: np.ndarray
    """Int64 [W]: position of the first piece of each word."""
    tags: tuple[int, ...] | None
    """Label of each word."""


@dataclass(frozen=True)
class TokenSequences:
    """The `Encoded` of labels for words: one sequence or more for each example."""

    parts: Sequence[WordWindow]
    num_examples: int
    pad_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens."""
        return np.array([len(part.feature.input_ids) for part in self.parts], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """Digest of ids and tags."""
        return digest((part.feature for part in self.parts), (part.tags for part in self.parts))

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.parts)

    def inputs(self, indices: np.ndarray) -> Inputs:
        """Some sequences, padded to [B, S]."""
        return pad([self.parts[index].feature for index in indices], pad_id=self.pad_id)

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Labels are Int64 [B, S], -100 but at the first piece of each word."""
        inputs = self.inputs(indices)
        labels = torch.full_like(inputs.input_ids, NO_LABEL)
        for row, index in enumerate(indices):
            part = self.parts[index]
            labels[row, torch.from_numpy(part.firsts)] = torch.tensor(part.tags)
        return LabelledBatch(inputs, labels, num_tokens=int(self.lengths[indices].sum()))

    def by_example(self, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """[W, C] for each example, from [S, C] for each sequence: what was given at the first pieces of its words."""
        words: list[list[np.ndarray]] = [[] for _ in range(self.num_examples)]
        for part, output in zip(self.parts, outputs, strict=True):
            words[part.example].append(output[part.firsts])
        return [np.concatenate(each) for each in words]


def encode_tokens(examples: Sequence[TaggedExample], tokenizer: Tokenizer, *, max_length: int) -> TokenSequences:
    """`[CLS] words [SEP]` of each example, in several sequences where it is too long."""
    if max_length <= SPECIALS:
        raise ConfigError(f"max_length: {max_length} leaves no room for a word; give more")
    ids = iter(tokenizer.encode_batch([word for each in examples for word in each.words]))
    parts: list[WordWindow] = []
    for index, each in enumerate(examples):
        # A word of which the tokenizer leaves nothing still has a label to be answered.
        words = [next(ids)[: max_length - SPECIALS] or [tokenizer.unk_id] for _ in each.words]
        for start, end in _cuts([len(word) for word in words], room=max_length - SPECIALS):
            tags = None if each.tags is None else each.tags[start:end]
            parts.append(_stretch(index, words[start:end], tags, tokenizer))
    return TokenSequences(parts, len(examples), tokenizer.pad_id)


def token_logits(model: nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """Float32 [S, C] for each sequence, padding and all."""
    output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    return list(output.logits.float().cpu().numpy())


def _cuts(lengths: Sequence[int], *, room: int) -> Iterator[tuple[int, int]]:
    """Spans of words of which each fits into `room` tokens."""
    start, used = 0, 0
    for index, length in enumerate(lengths):
        if used + length > room:
            yield start, index
            start, used = index, 0
        used += length
    yield start, len(lengths)


def _stretch(
    example: int, words: Sequence[list[int]], tags: tuple[int, ...] | None, tokenizer: Tokenizer
) -> WordWindow:
    ids = [tokenizer.cls_id, *(token for word in words for token in word), tokenizer.sep_id]
    firsts = 1 + np.cumsum([0, *(len(word) for word in words[:-1])])
    feature = Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8))
    return WordWindow(example, feature, firsts, tags)
