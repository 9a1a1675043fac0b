"""Pairs of texts in which tokens, positions and segments vary independently, made from the tokens of any text."""

from collections.abc import Iterator
from typing import Final

import torch
from jaxtyping import Int
from torch import Tensor

from litebert.model.model_inputs import ModelInputs
from litebert.randomness import rng_for
from litebert.tokenization.tokenizer import Tokenizer

BATCH_SIZE: Final = 32
NUM_SPECIAL: Final = 3
"""Special tokens of a pair."""


def pairs_of(text: Int[Tensor, " N"], length: int, tokenizer: Tokenizer, *, seed: int) -> Iterator[ModelInputs]:
    """Batches of pairs of `length` tokens, consecutive pieces of the text, and then the same with the pieces exchanged.

    So that every token occurs in both segments; and the first piece has another length in each batch, so that positions
    do. In the rows themselves the first text is always at the first positions.
    """
    count = min(length - NUM_SPECIAL, len(text))
    lengths = rng_for(seed, "lengths for duplicate-token heads")
    for rows in text[: len(text) // count * count].view(-1, count).split(BATCH_SIZE):
        first, second = rows.tensor_split([int(lengths.integers(1, count))], dim=1)
        yield _pair(first, second, tokenizer)
        yield _pair(second, first, tokenizer)


def _pair(first: Int[Tensor, "B F"], second: Int[Tensor, "B S"], tokenizer: Tokenizer) -> ModelInputs:
    """[CLS] first [SEP] second [SEP]."""
    cls, sep = (first.new_full((len(first), 1), token) for token in (tokenizer.cls_id, tokenizer.sep_id))
    ids = torch.cat([cls, first, sep, second, sep], dim=1)
    segments = (torch.arange(ids.shape[1]) >= first.shape[1] + 2).long().expand_as(ids)
    return ModelInputs(ids, torch.ones_like(ids, dtype=torch.bool), segments)
