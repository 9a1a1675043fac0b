"""Structured initialization of a model for pretraining, from corpus statistics. The ALBERT paper has no such thing.

A small randomly initialized model predicts by token frequency alone for its first millions of tokens. Here token
embeddings begin as co-occurrence vectors and attention heads with useful patterns. Only values change: the parameters,
the function and the checkpoint format are those of any model. docs/decisions/0005-structured-initialization.md says
where it was shown to help and where not.

Query and key of each head (query_key_patterns.py) are composed with P⁺, the pseudo-inverse of the embedding projection.
"""

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.encoder import Encoder
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces, sinusoid_frequencies
from litebert.model.initialization.head_patterns import num_duplicate_token_heads, relative_position_heads
from litebert.model.initialization.query_key_patterns import (
    duplicate_token_query_key,
    low_frequency_rows,
    relative_position_query_key,
    rotary_position_query_key,
)
from litebert.model.layers.block import Attention, Embeddings
from litebert.model.models import ForPretraining
from litebert.model.truncated_normal import fill_truncated_normal
from litebert.randomness import torch_seed_for

RANDOM_SCALE = 0.3
"""Factor of the random weights that are kept in query and key, so that no two heads are equal."""


@torch.no_grad()
def structured_init_(
    model: ForPretraining, vectors: Float[Tensor, "V D"], frequencies: Float[Tensor, " V"], *, seed: int
) -> None:
    """Initialize a randomly initialized `model`, in place.

    Args:
        model: keeps its random weights wherever nothing is set.
        vectors: of each token, columns in descending order of explained variance; superfluous columns are ignored.
        frequencies: of each token; the MLM bias becomes the log of the add-one smoothed unigram distribution.
        seed: of the random rotation of the vectors.
    """
    encoder, subspaces = model.encoder, EmbeddingSubspaces.of(model.encoder.config)
    smoothed = frequencies + 1
    model.mlm.bias.copy_((smoothed / smoothed.sum()).log())
    init_token_embeddings_(encoder.embeddings.word.weight, vectors, subspaces, seed=seed)
    init_position_embeddings_(encoder.embeddings, subspaces)
    init_query_key_(encoder, subspaces)


def init_token_embeddings_(
    table: Float[Tensor, "V E"], vectors: Float[Tensor, "V D"], subspaces: EmbeddingSubspaces, *, seed: int
) -> None:
    """Write the leading columns of `vectors` into the token columns; the other columns of `table` become zero.

    The vectors, low-rank factors of a PPMI matrix (Levy and Goldberg 2014), are centred, because their mean
    distinguishes no tokens, rotated by a random orthogonal matrix, because their first columns carry most of the
    variance and each head reads a part of the columns, and scaled to the root mean square s. Inner products of the
    centred vectors are preserved up to the scale. Tokens whose vector is zero keep their random weights.
    """
    columns = subspaces.num_token_columns
    table[:, :-columns] = 0
    vectors = vectors[:, :columns]
    known = vectors.abs().sum(dim=1) > 0
    if not known.any():
        return
    centred = vectors[known] - vectors[known].mean(dim=0)
    random = torch.empty(columns, columns)
    fill_truncated_normal(random, scale=1.0, seed=torch_seed_for(seed, "turn"))
    rotated = centred @ torch.linalg.qr(random)[0][: centred.shape[1]]
    table[known, -columns:] = (rotated * (subspaces.scale / rotated.square().mean().sqrt())).to(table)


def init_position_embeddings_(embeddings: Embeddings, subspaces: EmbeddingSubspaces) -> None:
    """Sinusoids for positions, or a constant with rotary positions, and one column for the segment.

    Position p has a·sin(ω p) and a·cos(ω p) in two columns for each frequency ω (Vaswani et al. 2017, section 3.5).
    Segments are spread evenly from b to -b. The constant is a part of the segment embeddings.
    """
    segments = embeddings.token_type.weight
    segments.zero_()
    segments[:, subspaces.segment_column] = torch.linspace(1, -1, len(segments)) * subspaces.segment_amplitude
    if embeddings.position is None:
        segments[:, subspaces.constant_column] = subspaces.position_amplitude
        return
    positions = embeddings.position.weight
    angles = torch.arange(len(positions))[:, None] * sinusoid_frequencies(subspaces.num_frequencies)
    sinusoids = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    positions.zero_()
    positions[:, : subspaces.segment_column] = subspaces.position_amplitude * sinusoids


def init_projection_(encoder: Encoder) -> Float[Tensor, "H E"]:
    """Make the projection from E to H preserve angles; returns the transpose of its pseudo-inverse.

    The projection becomes P = √(H / E) Q with orthonormal Q, from a QR decomposition of its random weights, so that
    the entries of P e have the root mean square of those of e. The pseudo-inverse P⁺ = √(E / H) Qᵀ recovers e from
    P e where H ≥ E. Without a projection P is the identity.
    """
    H, E = encoder.config.hidden_size, encoder.config.embedding_size
    if not isinstance(encoder.projection, nn.Linear):
        return torch.eye(H, E)
    weight = encoder.projection.weight
    orthonormal, _ = torch.linalg.qr(weight.float() if H >= E else weight.float().T)
    orthonormal = orthonormal if H >= E else orthonormal.T
    weight.copy_(orthonormal * math.sqrt(H / E))
    return orthonormal * math.sqrt(E / H)


def init_query_key_(encoder: Encoder, subspaces: EmbeddingSubspaces) -> None:
    """Set query and key of every block to RANDOM_SCALE · random weights + A P⁺, with A the patterns of its heads."""
    config = encoder.config
    heads, head_size = config.num_attention_heads, config.head_size
    pseudo_inverse = init_projection_(encoder).T
    if config.position_embedding == "rotary":
        position = partial(rotary_position_query_key, theta=config.rope_theta)
        rows = low_frequency_rows(head_size)
    else:
        position, rows = relative_position_query_key, torch.arange(head_size)
    patterns = [position(subspaces, head_size, offset) for offset in relative_position_heads(heads)]
    duplicates = [
        duplicate_token_query_key(subspaces, head_size, number, rows=rows)
        for number in range(num_duplicate_token_heads(heads))
    ]
    nothing = torch.zeros(head_size, subspaces.embedding_size)
    patterns += [(nothing, nothing)] * (heads - len(patterns) - len(duplicates)) + duplicates
    query, key = (torch.cat(side) @ pseudo_inverse for side in zip(*patterns, strict=True))
    for block in encoder.attentions:
        assert isinstance(block, Attention)
        block.query.weight.mul_(RANDOM_SCALE).add_(query)
        block.key.weight.mul_(RANDOM_SCALE).add_(key)
