"""Labelled examples as the model reads them. Before: `labelled`, a tokenizer. After: `batches`, `inference.batching`.

`Encoded` is what batches are cut from, whatever the kind: sequences of known length that can be padded together.
Here is the one for a text or a pair; `choices` and `token_labels` have theirs.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch

from litebert.tasks.features import Feature, Inputs, LabelledBatch, encode, pad
from litebert.tasks.labelled_data import Example, Target
from litebert.tokenization.tokenizer import Tokenizer


class Encoded(Protocol):
    """Sequences of token ids with their labels; a pure function of the file, the tokenizer and the longest length."""

    @property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens that each sequence takes in a batch, so that batches hold similar ones."""
        ...

    @property
    def num_examples(self) -> int:
        """Examples behind the sequences: what an epoch counts."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of ids and labels."""
        ...

    def __len__(self) -> int:
        """N, the number of sequences."""
        ...

    def inputs(self, indices: np.ndarray) -> Inputs:
        """Some sequences, padded."""
        ...

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Some sequences with their labels."""
        ...


@dataclass(frozen=True)
class Sequences:
    """A sequence for each example, and a target for each: the `Encoded` of classification and regression."""

    features: Sequence[Feature]
    targets: Sequence[Target | None]
    pad_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens."""
        return np.array([len(feature.input_ids) for feature in self.features], dtype=np.int64)

    @property
    def num_examples(self) -> int:
        """N."""
        return len(self)

    @property
    def fingerprint(self) -> str:
        """Digest of ids and targets."""
        return digest(self.features, self.targets)

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.features)

    def inputs(self, indices: np.ndarray) -> Inputs:
        """Some sequences, padded to [B, S]."""
        return pad([self.features[index] for index in indices], pad_id=self.pad_id)

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """Labels are Int64 [B], Float32 [B] scores or Float32 [B, C] zeros and ones."""
        labels = torch.tensor([self.targets[index] for index in indices])
        return LabelledBatch(self.inputs(indices), labels, num_tokens=int(self.lengths[indices].sum()))


def encode_sequences(examples: Sequence[Example], tokenizer: Tokenizer, *, max_length: int) -> Sequences:
    """`[CLS] text [SEP] (pair [SEP])` of each example."""
    features = encode([(each.text, each.text_pair) for each in examples], tokenizer, max_length=max_length)
    return Sequences(features, [each.target for each in examples], tokenizer.pad_id)


def digest(features: Iterable[Feature], targets: Iterable[object]) -> str:
    """Hexadecimal digest of ids, segments and targets."""
    result = hashlib.sha256()
    for feature in features:
        result.update(len(feature.input_ids).to_bytes(4, "little"))
        result.update(feature.input_ids.tobytes() + feature.token_type_ids.tobytes())
    for target in targets:
        result.update(f"{target}\n".encode())
    return result.hexdigest()
