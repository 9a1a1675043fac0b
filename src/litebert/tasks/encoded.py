"""Examples → token ids → padded batches. Importing it loads no torch, so that `litebert.runtime` shares it."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from litebert.errors import DataError
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from litebert.model.model_inputs import ModelInputs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Feature:
    """One sequence of token ids, without padding."""

    input_ids: np.ndarray
    """Int32 [S]."""
    token_type_ids: np.ndarray
    """Int8 [S]: 0 for the first text, 1 for the second."""
    is_truncated: bool = False
    """Whether it lacks tokens of its texts, which were longer than `max_length`."""
    is_empty: bool = False
    """Whether its texts have no tokens, so that it has special tokens only."""


class PaddedArrays(NamedTuple):
    """Sequences padded to the longest of them, as arrays of the shape of the batch."""

    input_ids: np.ndarray
    """Int64."""
    attention_mask: np.ndarray
    """Bool, True on real tokens."""
    token_type_ids: np.ndarray
    """Int64."""

    def to_tensors(self) -> ModelInputs:
        """The same batch for torch, on the CPU."""
        import torch

        from litebert.model.model_inputs import ModelInputs

        return ModelInputs(*map(torch.from_numpy, self))


@dataclass(frozen=True, slots=True)
class LabelledBatch:
    """Inputs and labels."""

    inputs: ModelInputs
    labels: Tensor
    """One row for each sequence; the task type defines its content."""
    num_tokens: int
    """Real tokens, without padding."""

    @property
    def num_examples(self) -> int:
        """Rows of `labels`."""
        return len(self.labels)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return replace(self, inputs=self.inputs.to(device), labels=self.labels.to(device, non_blocking=True))


@dataclass(frozen=True)
class Encoded:
    """Encoded examples, from which batches are drawn: one sequence and one target for each example.

    A subclass may make several sequences of one example.
    """

    features: Sequence[Any]
    """The `Feature` of each sequence."""
    targets: Sequence[Any]
    """The target of each sequence; None without labels."""
    pad_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of each sequence; batches hold sequences of similar length."""
        return np.array([len(feature.input_ids) for feature in self.features], dtype=np.int64)

    @property
    def sequence_lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest sequence of each feature, to which `max_length` applies."""
        longest = (max(len(each.input_ids) for each in _sequences(feature)) for feature in self.features)
        return np.fromiter(longest, np.int64, len(self.features))

    @property
    def num_truncated(self) -> int:
        """Features with a truncated sequence; none where a long text becomes several sequences."""
        return sum(any(each.is_truncated for each in _sequences(feature)) for feature in self.features)

    @property
    def num_empty(self) -> int:
        """Features whose sequences have special tokens only."""
        return sum(all(each.is_empty for each in _sequences(feature)) for feature in self.features)

    @property
    def text_counts(self) -> Counter[str]:
        """`num_truncated` as `truncated` and `num_empty` as `empty`, without zeros."""
        return +Counter(truncated=self.num_truncated, empty=self.num_empty)

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64: length of each example, for scores by length."""
        return self.lengths

    @property
    def num_examples(self) -> int:
        """Examples, which an epoch counts."""
        return len(self.example_lengths)

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of ids, segments and targets."""
        result = hashlib.sha256()
        for feature in self.features:
            for sequence in _sequences(feature):
                result.update(len(sequence.input_ids).to_bytes(4, "little"))
                result.update(sequence.input_ids.tobytes() + sequence.token_type_ids.tobytes())
        for target in self.targets:
            result.update(f"{target}\n".encode())
        return result.hexdigest()

    def __len__(self) -> int:
        """N, the number of sequences."""
        return len(self.features)

    def arrays(self, indices: np.ndarray) -> PaddedArrays:
        """The sequences at `indices`, padded to [B, S]."""
        return pad([self.features[index] for index in indices], pad_id=self.pad_id)

    def inputs(self, indices: np.ndarray) -> ModelInputs:
        """`arrays` as tensors."""
        return self.arrays(indices).to_tensors()

    def labels(self, indices: np.ndarray, inputs: ModelInputs) -> Tensor:
        """Int64 [B] classes, Float32 [B] scores or Float32 [B, C] zeros and ones."""
        import torch

        return torch.tensor([self.targets[index] for index in indices])

    def batch(self, indices: np.ndarray) -> LabelledBatch:
        """The sequences at `indices` with their labels."""
        inputs = self.inputs(indices)
        return LabelledBatch(inputs, self.labels(indices, inputs), num_tokens=int(inputs.attention_mask.sum()))

    def by_example(self, outputs: Sequence[Any]) -> Sequence[Any]:
        """The model's outputs for each example, from those for each sequence."""
        return outputs


def _sequences(feature: Any) -> tuple[Feature, ...]:
    """The sequences of a feature, of which a multiple choice has several."""
    return feature if isinstance(feature, tuple) else (feature,)


def encode_texts(texts: Sequence[str], tokenizer: Tokenizer, *, max_length: int) -> Encoded:
    """`[CLS] text [SEP]` of each text, truncated."""
    ids = tokenizer.encode_batch(texts)
    features = [build_feature(each, None, tokenizer, max_length=max_length) for each in ids]
    return Encoded(features, [None] * len(features), tokenizer.pad_id)


def encode_segments(pairs: Sequence[tuple[str, str]], tokenizer: Tokenizer, *, max_length: int) -> Encoded:
    """`[CLS] first [SEP] second [SEP]` of each pair, truncated; DataError for a segment without a token."""
    ids = tokenizer.encode_batch([text for pair in pairs for text in pair])
    features = []
    for number, (first, second) in enumerate(zip(ids[::2], ids[1::2], strict=True), start=1):
        if not first or not second:
            raise DataError(f"pair {number}: a segment has no tokens; give two texts")
        features.append(build_feature(first, second, tokenizer, max_length=max_length))
    return Encoded(features, [None] * len(features), tokenizer.pad_id)


class NoTokensError(DataError):
    """An example that cannot be predicted, as a text of it has no token; `index` is its position, from 0."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(f"text {index + 1}: {text[:60]!r} has no tokens; remove it")
        self.index = index


def warn_empty(place: Path | str, empty: int, *, rows: int) -> None:
    """Warn of texts of a file or an argument that have no tokens."""
    if empty:
        logger.warning(
            "%s: %d of %d texts are empty or have no tokens; their results are those of the special tokens alone",
            place,
            empty,
            rows,
        )


def build_feature(
    first: Sequence[int], second: Sequence[int] | None, tokenizer: Tokenizer, *, max_length: int
) -> Feature:
    """`[CLS] first [SEP] (second [SEP])`, truncated to `max_length` tokens."""
    encoding = tokenizer.build_inputs(first, second, max_length=max_length)
    input_ids = np.asarray(encoding.input_ids, np.int32)
    whole = len(first) + 2 if second is None else len(first) + len(second) + 3
    return Feature(
        input_ids,
        np.asarray(encoding.token_type_ids, np.int8),
        is_truncated=len(input_ids) < whole,
        is_empty=not first and not second,
    )


def pad(features: Sequence[Feature], *, pad_id: int) -> PaddedArrays:
    """One batch of `features`."""
    lengths = np.array([len(feature.input_ids) for feature in features])
    attention_mask = np.arange(lengths.max()) < lengths[:, None]
    input_ids = np.full(attention_mask.shape, pad_id, dtype=np.int64)
    token_type_ids = np.zeros(attention_mask.shape, dtype=np.int64)
    input_ids[attention_mask] = np.concatenate([feature.input_ids for feature in features])
    token_type_ids[attention_mask] = np.concatenate([feature.token_type_ids for feature in features])
    return PaddedArrays(input_ids, attention_mask, token_type_ids)


def batches_by_length(lengths: np.ndarray, *, tokens_per_batch: int) -> Iterator[np.ndarray]:
    """Positions of each batch, longest sequences first: little padding, and memory runs out at once or never."""
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        end = start + max(1, tokens_per_batch // int(lengths[order[start]]))
        yield order[start:end]
        start = end
