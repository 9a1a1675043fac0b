"""Weights that begin with what is known of any text. Before: fresh weights of `init.py`. After: training.

A small model with fresh weights predicts by frequency alone for its first millions of tokens: words must find their
neighbours before attending to them pays, and the other way round. Both can be given. Nothing else changes: the same
parameters, the same function of them, the same checkpoint. docs/pretraining.md, "Where the weights begin", has figures.

Places, segments and words begin in columns of their own, so that a head can read one of them alone.
Source of the idea of beginning with structure in the products of weights: Trockman and Kolter 2023 (mimetic
initialization); waves, equal words and a block that serves all layers are ours.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.initialization.random_init import fill_truncated_normal
from litebert.model.layers.attention import Attention
from litebert.model.layers.embeddings import Embeddings
from litebert.model.models import ForPretraining
from litebert.randomness import torch_seed_for

FASTEST, SLOWEST = 2.4, 0.01
"""Radians a token of the first and of the last wave; a place differs enough from the next one by the fast ones."""
POSITION_NORM_RATIO, SEGMENT_SHARE = 0.25, 0.1
"""Squared length of a place, and of a segment, beside that of a word."""
POSITION_LOGIT, WORD_SCORE, SEGMENT_SCORE = 14.0, 8.0, 3.0
"""What a head gives the place, the equal word, or the other segment it is made to look at, before the softmax."""
FRESH = 0.3
"""What is kept of the fresh weights of a query or key, so that no head is another's copy."""
LEAST_COLUMNS = 8


@dataclass(frozen=True)
class Columns:
    """Which columns of the embeddings begin as what."""

    waves: int
    """Each takes two of the first columns."""
    width: int

    @classmethod
    def of(cls, config: ModelConfig) -> "Columns":
        """A quarter for places, one column for the segment, the others for words; raises ConfigError if too few."""
        width = config.embedding_size
        if width < LEAST_COLUMNS:
            raise ConfigError(
                f"model.embedding_size: {width} columns have no room for places, segments and words apart; "
                f"take at least {LEAST_COLUMNS}, or init=random"
            )
        return cls((width // 4 - 1) // 2 or 1, width)

    @property
    def segment(self) -> int:
        """The column that is positive in the first segment and negative in the second."""
        return 2 * self.waves

    @property
    def words(self) -> int:
        """How many columns, the last ones, words have."""
        return self.width - self.segment - 1


@torch.no_grad()
def structured_init_(
    model: ForPretraining, vectors: Float[Tensor, "V D"], frequencies: Float[Tensor, " V"], *, seed: int
) -> None:
    """Words as `vectors` say, places as waves, heads that look at neighbours and at equal words, log frequencies.

    Of `vectors`, ordered by what they explain, as many columns are taken as there is room for.
    """
    config, encoder = model.encoder.config, model.encoder
    columns, size = Columns.of(config), config.initializer_range
    smoothed = frequencies + 1
    model.mlm.bias.copy_((smoothed / smoothed.sum()).log())
    _init_token_embeddings(encoder.embeddings.word.weight, vectors, columns, size=size, seed=seed)
    _init_position_embeddings(encoder.embeddings, columns, size=size)
    _init_qk(encoder, columns, size=size)


def sinusoid_frequencies(waves: int) -> Float[Tensor, " W"]:
    """Radians a token of each wave, by equal factors from `FASTEST` down to `SLOWEST`."""
    return FASTEST * (SLOWEST / FASTEST) ** (torch.arange(waves) / max(waves - 1, 1))


def relative_position_heads(heads: int) -> list[int]:
    """-1, 1, -2, 2, …: how far from its own place each of the first heads looks; from four on, half of them do."""
    beside = heads if heads < 4 else heads - heads // 2
    return [(-1) ** (head + 1) * (head // 2 + 1) for head in range(beside)]


def freeze_duplicate_token_heads(encoder: Encoder) -> None:
    """Keep the heads that began at equal words there, whatever is learnt: the objectives of pretraining unlearn them.

    A hidden word has no equal, so that nothing asks for such heads until a text is compared with another.
    """
    for block in encoder.attentions:
        assert isinstance(block, Attention)
        block.num_frozen_heads = num_duplicate_token_heads(encoder.config.num_attention_heads)


def num_duplicate_token_heads(heads: int) -> int:
    """How many of them: those, the last ones, that do not look beside."""
    return heads - len(relative_position_heads(heads))


def _init_token_embeddings(table: Tensor, vectors: Tensor, columns: Columns, *, size: float, seed: int) -> None:
    """Rows of zeros in `vectors` keep their fresh weights in the columns of words; no word is in another column.

    What all vectors have in common says nothing and is taken out, and they are turned at random: their first columns
    carry most, and each head reads a part of the columns.
    """
    table[:, : -columns.words] = 0
    words = vectors[:, : columns.words]
    known = words.abs().sum(dim=1) > 0
    if not known.any():
        return
    centred = words[known] - words[known].mean(dim=0)
    turn = torch.empty(columns.words, columns.words)
    fill_truncated_normal(turn, scale=1.0, seed=torch_seed_for(seed, "turn"))
    turned = centred @ torch.linalg.qr(turn)[0][: centred.shape[1]]
    table[known, -columns.words :] = (turned * (size / turned.square().mean().sqrt())).to(table)


def _init_position_embeddings(embeddings: Embeddings, columns: Columns, *, size: float) -> None:
    """Waves for places and one column for the segment, each as long as its share of a word."""
    positions, segments = embeddings.position.weight, embeddings.token_type.weight
    angles = torch.arange(len(positions))[:, None] * sinusoid_frequencies(columns.waves)
    positions.zero_()
    positions[:, : columns.segment] = _wave_height(columns, size) * _side_by_side(angles.sin(), angles.cos())
    segments.zero_()
    segments[:, columns.segment] = torch.linspace(1, -1, len(segments)) * _segment_height(columns, size)


def _init_qk(encoder: Encoder, columns: Columns, *, size: float) -> None:
    config, spread = encoder.config, _init_projection(encoder)
    beside = relative_position_heads(config.num_attention_heads)
    readers = [_neighbour(columns, config.head_size, offset, size=size) for offset in beside]
    readers += [
        _equal_word(columns, config.head_size, number, size=size)
        for number in range(num_duplicate_token_heads(config.num_attention_heads))
    ]
    query, key = (torch.cat(side) @ spread.T for side in zip(*readers, strict=True))
    for block in encoder.attentions:
        assert isinstance(block, Attention)
        block.query.weight.mul_(FRESH).add_(query)
        block.key.weight.mul_(FRESH).add_(key)


def _neighbour(columns: Columns, rows: int, offset: int, *, size: float) -> tuple[Tensor, Tensor]:
    """Query and key [D, E] that agree most at the place `offset` tokens on.

    A wave moved by some tokens is the wave turned by an angle, so both read the same waves, one of them turned: the
    fastest ones there are rows for, the faster the stronger.
    """
    waves = torch.arange(min(columns.waves, rows // 2))
    angles = sinusoid_frequencies(columns.waves)[waves]
    strength = angles.sqrt() / angles.sqrt().sum()
    height = _wave_height(columns, size) * _norm_scale(columns, size)
    gain = (strength * POSITION_LOGIT * math.sqrt(rows)).sqrt() / height
    cosine, sine = (angles * offset).cos(), (angles * offset).sin()
    query, key = torch.zeros(rows, columns.width), torch.zeros(rows, columns.width)
    key[2 * waves, 2 * waves] = key[2 * waves + 1, 2 * waves + 1] = gain
    query[2 * waves, 2 * waves] = query[2 * waves + 1, 2 * waves + 1] = gain * cosine
    query[2 * waves, 2 * waves + 1], query[2 * waves + 1, 2 * waves] = gain * sine, -gain * sine
    return query, key


def _equal_word(columns: Columns, rows: int, number: int, *, size: float) -> tuple[Tensor, Tensor]:
    """Query and key [D, E] that agree most at the same word, or at one with such neighbours, in the other segment.

    The last row reads the segment; the others as many columns of words, for each `number` of such a head others.
    """
    read = min(rows - 1, columns.words)
    first = columns.width - columns.words
    taken = first + (number * read + torch.arange(read)) % columns.words
    scale = _norm_scale(columns, size)
    query = torch.zeros(rows, columns.width)
    if read:
        query[torch.arange(read), taken] = math.sqrt(WORD_SCORE * math.sqrt(rows) / read) / (size * scale)
    key = query.clone()
    gain = math.sqrt(SEGMENT_SCORE * math.sqrt(rows)) / (_segment_height(columns, size) * scale)
    query[-1, columns.segment], key[-1, columns.segment] = -gain, gain
    return query, key


def _wave_height(columns: Columns, size: float) -> float:
    return size * math.sqrt(POSITION_NORM_RATIO * columns.words / columns.waves)


def _segment_height(columns: Columns, size: float) -> float:
    return size * math.sqrt(SEGMENT_SHARE * columns.words)


def _norm_scale(columns: Columns, size: float) -> float:
    """By what the layer norm of the embeddings multiplies a sum of word, place and segment."""
    return math.sqrt(columns.width / (columns.words * (1 + POSITION_NORM_RATIO + SEGMENT_SHARE))) / size


def _side_by_side(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


def _init_projection(encoder: Encoder) -> Float[Tensor, "H E"]:
    """How embeddings stand in the hidden vectors; the projection is made to keep their angles and sizes."""
    wide, narrow = encoder.config.hidden_size, encoder.config.embedding_size
    if not isinstance(encoder.projection, nn.Linear):
        return torch.eye(wide, narrow)
    weight = encoder.projection.weight
    directions, _ = torch.linalg.qr(weight.float() if wide >= narrow else weight.float().T)
    directions = directions if wide >= narrow else directions.T
    weight.copy_(directions * math.sqrt(wide / narrow))
    return directions * math.sqrt(narrow / wide)
