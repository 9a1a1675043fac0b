"""What a batch predicts: masked tokens, or each next token."""

from dataclasses import dataclass

import numpy as np

from litebert.corpus.format.shards import Vocabulary
from litebert.corpus.sampling.example_grid import ExampleGrid
from litebert.corpus.sampling.masking import mask_tokens
from litebert.corpus.sampling.sampling_settings import SamplingSettings


@dataclass(frozen=True)
class Targets:
    """Inputs and labels of B examples of up to S tokens."""

    input_ids: np.ndarray
    """Int64 [B, S]: what the model reads."""
    predicted: np.ndarray
    """Bool [B, S]: where a token is predicted, at P positions."""
    labels: np.ndarray
    """Int64 [P]: the tokens to predict there, in the order of the positions."""


def masked_tokens(
    grid: ExampleGrid, vocabulary: Vocabulary, settings: SamplingSettings, *, mlm_probability: float
) -> Targets:
    """The original tokens at masked positions."""
    masked = mask_tokens(grid, vocabulary, settings, mlm_probability=mlm_probability)
    return Targets(masked.input_ids, masked.predicted, grid.input_ids[masked.predicted])


def next_tokens(grid: ExampleGrid) -> Targets:
    """Nothing masked; at each position but the last one of an example the token after it."""
    follows = grid.attention_mask[:, 1:]
    predicted = np.pad(follows, ((0, 0), (0, 1)))
    return Targets(grid.input_ids, predicted, grid.input_ids[:, 1:][follows])
