"""Structured initialization of a model for pretraining, from corpus statistics. The ALBERT paper has no such thing.

A small randomly initialized model predicts by token frequency alone for its first millions of tokens. Here token
embeddings begin as co-occurrence vectors and attention heads with useful patterns. Only values change: the parameters,
the function and the checkpoint format are those of any model. docs/decisions/0005-structured-initialization.md says
where it was shown to help and where not.

Symbols: E embedding size, F sinusoid frequencies, T token columns, s `initializer_range`. With rotary positions there
are no sinusoids, and one column is constant. As in mimetic initialization (Trockman and Kolter 2023) the product of
query and key weights is given a structure: heads attend by relative position or to equal tokens. Their matrices [D, E]
act on the embeddings e of the first block, and are composed with P⁺, the pseudo-inverse of the embedding projection.
The logit of a head is q·k / √D.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.initialization.head_patterns import num_duplicate_token_heads, relative_position_heads
from litebert.model.initialization.random_init import fill_truncated_normal
from litebert.model.layers.block import Attention, Embeddings
from litebert.model.models import ForPretraining
from litebert.randomness import torch_seed_for

MAX_FREQUENCY, MIN_FREQUENCY = 2.4, 0.01
"""Radians per token of the first and of the last sinusoid; the fast ones tell neighbouring positions apart."""
POSITION_NORM_RATIO, SEGMENT_NORM_RATIO = 0.25, 0.1
"""Squared norm of a position embedding, and of a segment embedding, relative to that of a token embedding; the constant
of rotary positions has that of a segment embedding."""
MIN_EMBEDDING_SIZE: Final = 8
POSITION_LOGIT, TOKEN_LOGIT, SEGMENT_LOGIT = 14.0, 8.0, 3.0
"""Logit that a head gives the position it attends to; an equal token; the other segment (the own one: minus that)."""
RANDOM_SCALE = 0.3
"""Factor of the random weights that are kept in query and key, so that no two heads are equal."""


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
        rows = slowly_rotated_rows(head_size)
    else:
        position, rows = relative_position_query_key, torch.arange(head_size)
    patterns = [position(subspaces, head_size, offset) for offset in relative_position_heads(heads)]
    patterns += [
        duplicate_token_query_key(subspaces, head_size, number, rows=rows)
        for number in range(num_duplicate_token_heads(heads))
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


def slowly_rotated_rows(head_size: int) -> Int[Tensor, " n"]:
    """Rows of query and key with the lower half of the rotary frequencies, where equal tokens agree at any distance."""
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


def freeze_heads(model: nn.Module, count: int) -> None:
    """Freeze query and key of the last `count` heads of every attention block of `model.encoder`, in place.

    Hooks zero the rows of these heads in the gradients of `query` and `key`; outputs and all other gradients are
    unchanged. The hooks sit on the parameters that the forward pass uses and are added before each forward pass where
    they are missing, because FSDP replaces parameters. Weight decay still applies. Not saved with the model.
    """
    masked = WeakIdKeyDictionary()

    def add_hooks(module: nn.Module, arguments: object) -> None:
        encoder = cast(Encoder, module.encoder)
        hook = partial(_zero_last_rows, rows=count * encoder.config.head_size)
        for layer in (getattr(block, name) for block in encoder.attentions for name in ("query", "key")):
            for parameter in layer.parameters():
                if parameter not in masked and parameter.requires_grad:
                    masked[parameter] = parameter.register_hook(hook)

    model.register_forward_pre_hook(add_hooks)


def _zero_last_rows(gradient: Float[Tensor, "*shape"], *, rows: int) -> Float[Tensor, "*shape"]:
    trained = len(gradient) - rows
    return torch.cat([gradient[:trained], torch.zeros_like(gradient[trained:])])
