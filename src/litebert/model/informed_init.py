"""Weights that begin with what is known of any text. Before: fresh weights of `init.py`. After: training.

A small model with fresh weights predicts by frequency alone for its first millions of tokens: words must find their
neighbours before attending to them pays, and the other way round. Both can be given. Nothing else changes: the same
parameters, the same function of them, the same checkpoint. docs/pretraining.md, "Where the weights begin", has figures.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.attention import Attention
from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.init import fill_truncated_normal
from litebert.model.models import ForPretraining
from litebert.randomness import torch_seed_for

SCORE = 6.0
"""What a head gives the place it is made to look at, before the softmax, if only positions were added up there."""
FASTEST = 2.2
"""Radians a token of the fastest wave; 1 leaves a place too similar to its neighbours."""


@torch.no_grad()
def begin_with_words(
    model: ForPretraining, vectors: Float[Tensor, "V D"], frequencies: Float[Tensor, " V"], *, scale: float, seed: int
) -> None:
    """Take `vectors`, with standard deviation `scale`, as word embeddings, and log `frequencies` as output bias.

    What all vectors have in common says nothing and is taken out, and they are turned at random: as factors their first
    columns carry most, and these are no other columns than the ones of the fastest waves. Rows of zeros keep their
    fresh weights.
    """
    smoothed = frequencies + 1
    model.mlm.bias.copy_((smoothed / smoothed.sum()).log())
    table = model.encoder.embeddings.word.weight
    known = vectors.abs().sum(dim=1) > 0
    if not known.any():
        return
    words = vectors[known] - vectors[known].mean(dim=0)
    turn = torch.empty(vectors.shape[1], table.shape[1])
    fill_truncated_normal(turn, scale=1.0, seed=torch_seed_for(seed, "turn"))
    words = words @ torch.linalg.qr(turn.T)[0].T
    table[known] = (words * (scale / words.std())).to(table)


@torch.no_grad()
def begin_with_neighbours(encoder: Encoder, config: ModelConfig) -> None:
    """Positions as waves, and heads that look one token back, one on, two back, two on, and so forth.

    A wave moved by some tokens is the wave turned by an angle, so query and key can read the same waves, one of them
    turned, and agree most at a place `offset` tokens away. The fresh weights stay, added to that. Source of the idea of
    beginning with structure in the products of weights: Trockman and Kolter 2023 (mimetic initialization).
    """
    positions = encoder.embeddings.position.weight
    angles = wave_angles(config)
    waves = turned(torch.arange(len(positions))[:, None] * angles)
    positions[:, : waves.shape[1]] = waves * (math.sqrt(2) * config.initializer_range)
    spread = _spread(encoder, config)
    for block in encoder.attentions:
        assert isinstance(block, Attention)
        for head, offset in enumerate(offsets(config.num_attention_heads)):
            rows = slice(head * config.head_size, (head + 1) * config.head_size)
            key, query = (_reader(config, angles, turn) @ spread.T for turn in (0, offset))
            block.key.weight[rows] += key
            block.query.weight[rows] += query


def wave_angles(config: ModelConfig) -> Float[Tensor, " E2"]:
    """Radians a token of each wave, by equal factors from `FASTEST` down by as much as there are positions."""
    waves = config.embedding_size // 2
    return FASTEST * float(config.max_position_embeddings) ** (-torch.arange(waves) / max(waves - 1, 1))


def turned(angles: Float[Tensor, "*shape E2"]) -> Float[Tensor, "*shape E"]:
    """Sine and cosine of each angle, side by side."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def offsets(heads: int) -> list[int]:
    """-1, 1, -2, 2, …: where each head looks."""
    return [(-1) ** (head + 1) * (head // 2 + 1) for head in range(heads)]


def _reader(config: ModelConfig, angles: Float[Tensor, " E2"], offset: int) -> Float[Tensor, "D E"]:
    """Rows that read waves spread over all lengths, each turned by `offset` tokens; two rows a wave."""
    size, waves = config.head_size, len(angles)
    read = torch.linspace(0, waves - 1, min(size // 2, waves)).round().long()
    rows = torch.zeros(size, config.embedding_size)
    first, second = 2 * torch.arange(len(read)), 2 * torch.arange(len(read)) + 1
    cosine, sine = (angles[read] * offset).cos(), (angles[read] * offset).sin()
    rows[first, 2 * read], rows[first, 2 * read + 1] = cosine, sine
    rows[second, 2 * read], rows[second, 2 * read + 1] = -sine, cosine
    return rows * math.sqrt(SCORE * math.sqrt(size) / max(len(read), 1))


def _spread(encoder: Encoder, config: ModelConfig) -> Float[Tensor, "H E"]:
    """How embeddings stand in the hidden vectors; the projection is made to keep their angles and sizes."""
    wide, narrow = config.hidden_size, config.embedding_size
    if not isinstance(encoder.projection, nn.Linear):
        return torch.eye(wide, narrow)
    weight = encoder.projection.weight
    directions, _ = torch.linalg.qr(weight.float() if wide >= narrow else weight.float().T)
    directions = directions if wide >= narrow else directions.T
    weight.copy_(directions * math.sqrt(wide / narrow))
    return directions * math.sqrt(narrow / wide)
