"""Texts → token ids → padded tensors. Before: a tokenizer. After: `encoded`, which does it for whole files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Feature:
    """One example as the model reads it, without padding."""

    input_ids: np.ndarray
    """Int32 [S]."""
    token_type_ids: np.ndarray
    """Int8 [S]: 0 for the first text, 1 for the second."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sequences padded to the longest of them."""

    input_ids: Tensor
    """Int64 [B, S]."""
    attention_mask: Tensor
    """Bool [B, S], True on real tokens."""
    token_type_ids: Tensor
    """Int64 [B, S]."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        tensors = (self.input_ids, self.attention_mask, self.token_type_ids)
        return type(self)(*(tensor.to(device, non_blocking=True) for tensor in tensors))


@dataclass(frozen=True, slots=True)
class LabelledBatch:
    """Inputs with what should be answered."""

    inputs: Inputs
    labels: Tensor
    """One row an example: what it holds is the kind's matter."""
    num_tokens: int
    """Real tokens."""

    @property
    def num_examples(self) -> int:
        """Rows of `labels`."""
        return len(self.labels)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return replace(self, inputs=self.inputs.to(device), labels=self.labels.to(device, non_blocking=True))


def encode(texts: Sequence[tuple[str, str | None]], tokenizer: Tokenizer, *, max_length: int) -> list[Feature]:
    """`[CLS] text [SEP] (pair [SEP])` of each pair, cut to `max_length` tokens as the original code cuts."""
    firsts = tokenizer.encode_batch([first for first, _ in texts])
    seconds = iter(tokenizer.encode_batch([second for _, second in texts if second is not None]))
    features = []
    for (_, second), first_ids in zip(texts, firsts, strict=True):
        encoding = tokenizer.build_inputs(first_ids, None if second is None else next(seconds), max_length=max_length)
        features.append(Feature(np.asarray(encoding.input_ids, np.int32), np.asarray(encoding.token_type_ids, np.int8)))
    return features


def pad(features: Sequence[Feature], *, pad_id: int) -> Inputs:
    """One batch of `features`, on the CPU."""
    lengths = np.array([len(feature.input_ids) for feature in features])
    attended = np.arange(lengths.max()) < lengths[:, None]
    input_ids = np.full(attended.shape, pad_id, dtype=np.int64)
    token_type_ids = np.zeros(attended.shape, dtype=np.int64)
    input_ids[attended] = np.concatenate([feature.input_ids for feature in features])
    token_type_ids[attended] = np.concatenate([feature.token_type_ids for feature in features])
    return Inputs(torch.from_numpy(input_ids), torch.from_numpy(attended), torch.from_numpy(token_type_ids))
