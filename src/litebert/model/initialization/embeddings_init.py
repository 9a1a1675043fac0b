"""Structured initial values of the embedding tables and of their projection. All functions work in place."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.encoder import Encoder
from litebert.model.initialization.embedding_subspaces import EmbeddingSubspaces, sinusoid_frequencies
from litebert.model.initialization.random_init import fill_truncated_normal
from litebert.model.layers.embeddings import Embeddings
from litebert.randomness import torch_seed_for


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
    """Sinusoids for positions, and one column for the segment.

    Position p has a·sin(ω p) and a·cos(ω p) in two columns for each frequency ω (Vaswani et al. 2017, section 3.5).
    Segments are spread evenly from b to -b.
    """
    assert embeddings.position is not None, "rotary positions"
    positions, segments = embeddings.position.weight, embeddings.token_type.weight
    angles = torch.arange(len(positions))[:, None] * sinusoid_frequencies(subspaces.num_frequencies)
    sinusoids = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    positions.zero_()
    positions[:, : subspaces.segment_column] = subspaces.position_amplitude * sinusoids
    segments.zero_()
    segments[:, subspaces.segment_column] = torch.linspace(1, -1, len(segments)) * subspaces.segment_amplitude


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
