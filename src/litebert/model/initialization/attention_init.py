"""Structured initial queries and keys: heads that attend by relative position, and heads that attend to equal tokens.

As in mimetic initialization (Trockman and Kolter 2023) the product of query and key weights is given a structure. The
matrices here, [D, E], act on the embeddings e of the first block; `init_query_key_` composes them with P⁺, the
pseudo-inverse of the embedding projection. The logit of a head is q·k / √D.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from litebert.model.encoder import Encoder
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces, sinusoid_frequencies
from litebert.model.initialization.embeddings_init import init_projection_
from litebert.model.initialization.head_patterns import num_duplicate_token_heads, relative_position_heads
from litebert.model.layers.attention import Attention

POSITION_LOGIT, TOKEN_LOGIT, SEGMENT_LOGIT = 14.0, 8.0, 3.0
"""Logit that a head gives the position it attends to; an equal token; the other segment (the own one: minus that)."""
RANDOM_SCALE = 0.3
"""Factor of the random weights that are kept in query and key, so that no two heads are equal."""


def init_query_key_(encoder: Encoder, subspaces: EmbeddingSubspaces) -> None:
    """Set query and key of every block to RANDOM_SCALE · random weights + A P⁺, with A the patterns of its heads."""
    heads, head_size = encoder.config.num_attention_heads, encoder.config.head_size
    pseudo_inverse = init_projection_(encoder).T
    patterns = [relative_position_query_key(subspaces, head_size, offset) for offset in relative_position_heads(heads)]
    patterns += [
        duplicate_token_query_key(subspaces, head_size, number) for number in range(num_duplicate_token_heads(heads))
    ]
    query, key = (torch.cat(side) @ pseudo_inverse for side in zip(*patterns, strict=True))
    for block in encoder.attentions:
        assert isinstance(block, Attention)
        block.query.weight.mul_(RANDOM_SCALE).add_(query)
        block.key.weight.mul_(RANDOM_SCALE).add_(key)


def relative_position_query_key(
    subspaces: EmbeddingSubspaces, head_size: int, offset: int
) -> tuple[Float[Tensor, "D E"], Float[Tensor, "D E"]]:
    """Query and key whose logit is largest for the key `offset` tokens after the query.

    After LayerNorm position p has h·sin(ω p) and h·cos(ω p) with h = g a. The key reads both with gain c; the query
    reads them rotated by the angle ω d, d being the offset: c h sin(ω (p + d)) and c h cos(ω (p + d)). With weights
    w ∝ √ω that sum to 1 and c = √(POSITION_LOGIT · w · √D) / h, the logit of positions i and j is
    POSITION_LOGIT · Σ w cos(ω (i + d - j)), whose maximum is at j = i + d. Only the D / 2 highest frequencies fit.
    """
    index = torch.arange(min(subspaces.num_frequencies, head_size // 2))
    frequencies = sinusoid_frequencies(subspaces.num_frequencies)[index]
    weights = frequencies.sqrt() / frequencies.sqrt().sum()
    amplitude = subspaces.position_amplitude * subspaces.layer_norm_gain
    gain = (weights * POSITION_LOGIT * math.sqrt(head_size)).sqrt() / amplitude
    cosine, sine = (frequencies * offset).cos(), (frequencies * offset).sin()
    sin_column, cos_column = 2 * index, 2 * index + 1
    query = torch.zeros(head_size, subspaces.embedding_size)
    key = torch.zeros(head_size, subspaces.embedding_size)
    key[sin_column, sin_column] = key[cos_column, cos_column] = gain
    query[sin_column, sin_column] = query[cos_column, cos_column] = gain * cosine
    query[sin_column, cos_column], query[cos_column, sin_column] = gain * sine, -gain * sine
    return query, key


def duplicate_token_query_key(
    subspaces: EmbeddingSubspaces, head_size: int, number: int
) -> tuple[Float[Tensor, "D E"], Float[Tensor, "D E"]]:
    """Query and key whose logit is largest for the same, or a similar, token in the other segment.

    Rows 1 to D - 1 of query and key are equal and read n = D - 1 token columns (of T, cyclically from `number` · n)
    with gain √(TOKEN_LOGIT · √D / n) / (g s); equal tokens get TOKEN_LOGIT on average. The last row reads the segment
    column, ±g b, with opposite signs in query and key and gain √(SEGMENT_LOGIT · √D) / (g b).
    """
    count = min(head_size - 1, subspaces.num_token_columns)
    first = subspaces.embedding_size - subspaces.num_token_columns
    columns = first + (number * count + torch.arange(count)) % subspaces.num_token_columns
    norm_gain = subspaces.layer_norm_gain
    query = torch.zeros(head_size, subspaces.embedding_size)
    if count:
        token_gain = math.sqrt(TOKEN_LOGIT * math.sqrt(head_size) / count) / (subspaces.scale * norm_gain)
        query[torch.arange(count), columns] = token_gain
    key = query.clone()
    segment_gain = math.sqrt(SEGMENT_LOGIT * math.sqrt(head_size)) / (subspaces.segment_amplitude * norm_gain)
    query[-1, subspaces.segment_column], key[-1, subspaces.segment_column] = -segment_gain, segment_gain
    return query, key
