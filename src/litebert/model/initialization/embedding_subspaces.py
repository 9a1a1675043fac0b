"""How structured initialization divides the columns of the embedding tables among positions, segments and tokens.

Before it: corpus statistics. After it: query_key_patterns.py and structured_init.py. Symbols: E embedding size, F
sinusoid frequencies, T token columns, s `initializer_range`.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig

MAX_FREQUENCY, MIN_FREQUENCY = 2.4, 0.01
"""Radians per token of the first and of the last sinusoid; the fast ones tell neighbouring positions apart."""
POSITION_NORM_RATIO, SEGMENT_NORM_RATIO = 0.25, 0.1
"""Squared norm of a position embedding, and of a segment embedding, relative to that of a token embedding; the constant
of rotary positions has that of a segment embedding."""
MIN_EMBEDDING_SIZE: Final = 8


@dataclass(frozen=True)
class EmbeddingSubspaces:
    """Columns of the embedding tables: those of positions, one for the segment, the other T for tokens.

    Positions have 2 F columns of sinusoids, or with rotary positions (F = 0) one column that is constant. The subspaces
    are disjoint, so that a head can read one of them alone.
    """

    num_frequencies: int
    embedding_size: int
    scale: float
    """Root mean square s of the entries of a token embedding."""

    @classmethod
    def of(cls, config: ModelConfig) -> "EmbeddingSubspaces":
        """A quarter of the columns for sinusoids; raises ConfigError if `embedding_size` is too small to be split."""
        size = config.embedding_size
        if size < MIN_EMBEDDING_SIZE:
            raise ConfigError(
                f"model.embedding_size: {size} columns cannot be split into positions, segments and tokens; "
                f"take at least {MIN_EMBEDDING_SIZE}, or init=random"
            )
        if config.position_embedding == "rotary":
            return cls(0, size, config.initializer_range)
        return cls((size // 4 - 1) // 2 or 1, size, config.initializer_range)

    @property
    def constant_column(self) -> int:
        """Index of the column that is equal for all tokens and positions; there are no sinusoids then."""
        return 0

    @property
    def segment_column(self) -> int:
        """Index of the column that is positive in the first segment and negative in the second."""
        return 2 * self.num_frequencies or 1

    @property
    def num_token_columns(self) -> int:
        """T; the token columns are the last ones."""
        return self.embedding_size - self.segment_column - 1

    @property
    def position_norm_ratio(self) -> float:
        """Squared norm in the columns of positions, relative to that of a token embedding."""
        return POSITION_NORM_RATIO if self.num_frequencies else SEGMENT_NORM_RATIO

    @property
    def position_amplitude(self) -> float:
        """Amplitude a of each sinusoid, or the constant. a² = POSITION_NORM_RATIO · T s² / F, or b²."""
        return self.scale * math.sqrt(self.position_norm_ratio * self.num_token_columns / (self.num_frequencies or 1))

    @property
    def segment_amplitude(self) -> float:
        """Absolute value b in the segment column. b² = SEGMENT_NORM_RATIO · T s²."""
        return self.scale * math.sqrt(SEGMENT_NORM_RATIO * self.num_token_columns)

    @property
    def layer_norm_gain(self) -> float:
        """Factor g by which LayerNorm scales token + position + segment: √E over the norm of this sum."""
        squared_norm = self.num_token_columns * (1 + self.position_norm_ratio + SEGMENT_NORM_RATIO)
        return math.sqrt(self.embedding_size / squared_norm) / self.scale


def sinusoid_frequencies(count: int) -> Float[Tensor, " F"]:
    """Radians per token: a geometric sequence from `MAX_FREQUENCY` down to `MIN_FREQUENCY`.

    Source: Vaswani et al. 2017, section 3.5, with another range.
    """
    return MAX_FREQUENCY * (MIN_FREQUENCY / MAX_FREQUENCY) ** (torch.arange(count) / max(count - 1, 1))
