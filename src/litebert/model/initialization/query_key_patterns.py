"""Query and key matrices whose heads attend by relative position, or to equal tokens.

As in mimetic initialization (Trockman and Kolter 2023) the product of query and key weights is given a structure. The
matrices [D, E] act on the embeddings e of the first block, whose columns embedding_subspaces.py divides. The logit of a
head is q·k / √D.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces, sinusoid_frequencies

POSITION_LOGIT, TOKEN_LOGIT, SEGMENT_LOGIT = 14.0, 8.0, 3.0
"""Logit that a head gives the position it attends to; an equal token; the other segment (the own one: minus that)."""


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


def rotary_position_query_key(
    subspaces: EmbeddingSubspaces, head_size: int, offset: int, *, theta: float
) -> tuple[Float[Tensor, "D E"], Float[Tensor, "D E"]]:
    """As `relative_position_query_key`, for queries and keys that are rotated by their positions.

    Both read the constant column, h = g a after LayerNorm, so every token has the same query and the same key. With
    the angle -ω d between them the logit of positions i and j is POSITION_LOGIT · Σ w cos(ω (i + d - j)), as there,
    over the rotary frequencies ω. The constant begins with the segment embedding.
    """
    frequencies = theta ** -(torch.arange(0, head_size, 2) / head_size)
    weights = frequencies.sqrt() / frequencies.sqrt().sum()
    amplitude = subspaces.position_amplitude * subspaces.layer_norm_gain
    gain = (weights * POSITION_LOGIT * math.sqrt(head_size)).sqrt() / amplitude
    query = torch.zeros(head_size, subspaces.embedding_size)
    key = torch.zeros(head_size, subspaces.embedding_size)
    query[: head_size // 2, subspaces.constant_column] = gain
    key[: head_size // 2, subspaces.constant_column] = gain * (frequencies * offset).cos()
    key[head_size // 2 :, subspaces.constant_column] = -gain * (frequencies * offset).sin()
    return query, key


def low_frequency_rows(head_size: int) -> Int[Tensor, " n"]:
    """Rows of query and key with the lower half of the rotary frequencies: equal tokens agree over some distance.

    With the usual base of 10,000 and heads of 32 or 64 the cosine of equal tokens is 0.88 in the mean at a distance of
    128 tokens, and 0.48 at 512. A smaller base makes it fall sooner.
    """
    first = torch.arange(head_size // 4, head_size // 2)
    return torch.cat([first, first + head_size // 2])


def duplicate_token_query_key(
    subspaces: EmbeddingSubspaces, head_size: int, number: int, *, rows: Int[Tensor, " R"]
) -> tuple[Float[Tensor, "D E"], Float[Tensor, "D E"]]:
    """Query and key whose logit is largest for the same, or a similar, token in the other segment.

    The first R - 1 of `rows` of query and key are equal and read n = R - 1 token columns (of T, cyclically from
    `number` · n) with gain √(TOKEN_LOGIT · √D / n) / (g s); equal tokens get TOKEN_LOGIT on average. The last of them
    reads the segment column, ±g b, with opposite signs in query and key and gain √(SEGMENT_LOGIT · √D) / (g b).
    """
    count = min(len(rows) - 1, subspaces.num_token_columns)
    first = subspaces.embedding_size - subspaces.num_token_columns
    columns = first + (number * count + torch.arange(count)) % subspaces.num_token_columns
    norm_gain = subspaces.layer_norm_gain
    query = torch.zeros(head_size, subspaces.embedding_size)
    if count:
        token_gain = math.sqrt(TOKEN_LOGIT * math.sqrt(head_size) / count) / (subspaces.scale * norm_gain)
        query[rows[:count], columns] = token_gain
    key = query.clone()
    segment_gain = math.sqrt(SEGMENT_LOGIT * math.sqrt(head_size)) / (subspaces.segment_amplitude * norm_gain)
    query[rows[-1], subspaces.segment_column], key[rows[-1], subspaces.segment_column] = -segment_gain, segment_gain
    return query, key
