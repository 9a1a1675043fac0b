"""Layers of litebert models for transformers. Written by litebert beside the weights.

Shapes: B batch, S sequence, E embedding size, H hidden size, A heads, D head size.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.activations import ACT2FN

from .configuration_litebert import LitebertConfig

Rotation = tuple[Tensor, Tensor]
"""Cosines and sines, [S, 1, D / 2]."""
Updates = Mapping[str, Tensor]
"""Name of a dense layer → matrix to add to its weight."""


def rotation(length: int, head_size: int, theta: float, *, device: torch.device) -> Rotation:
    """Angles p · theta^(-2 i / D) of positions 0, 1, …, length - 1."""
    exponents = torch.arange(0, head_size, 2, device=device) / head_size
    angles = torch.arange(length, device=device)[:, None, None] * theta**-exponents
    return angles.cos(), angles.sin()


def rotate(x: Tensor, by: Rotation) -> Tensor:
    """`x` [B, S, A, D] with each pair of dimensions (i, i + D / 2) rotated by its angle."""
    (cos, sin), (first, second) = by, x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


class LowRankUpdate(nn.Module):
    """A low-rank matrix B A, which is added to a weight."""

    def __init__(self, inputs: int, outputs: int, rank: int):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(rank, inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self) -> Tensor:
        """B A."""
        return self.b @ self.a


class LitebertEmbeddings(nn.Module):
    """Sum of word, token-type and, unless positions are rotary, position embeddings; normalised."""

    def __init__(self, config: LitebertConfig):
        super().__init__()
        size = config.embedding_size
        self.word = nn.Embedding(config.vocab_size, size)
        self.token_type = nn.Embedding(config.type_vocab_size, size)
        absolute = config.position_embedding == "absolute"
        self.position = nn.Embedding(config.max_position_embeddings, size) if absolute else None
        self.norm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """Embeddings [B, S, E]."""
        summed = self.word(input_ids) + self.token_type(token_type_ids)
        if self.position is not None:
            summed = summed + self.position(torch.arange(input_ids.shape[1], device=input_ids.device))
        return self.dropout(self.norm(summed))


class LitebertAttention(nn.Module):
    """Self-attention, without its residual connection and norm."""

    def __init__(self, config: LitebertConfig):
        super().__init__()
        hidden, bias = config.hidden_size, config.use_bias
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden, bias=bias) for _ in range(4))
        self.norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, x: Tensor, mask: Tensor, by: Rotation | None, updates: Updates) -> Tensor:
        """Attention [B, S, H] over the keys where `mask` [B, 1, 1, S] is True."""
        query, key, value = (
            dense(getattr(self, name), x, updates, name).unflatten(-1, (self.heads, -1))
            for name in ("query", "key", "value")
        )
        if by is not None:
            query, key = rotate(query, by), rotate(key, by)
        heads_first = (tensor.transpose(1, 2) for tensor in (query, key, value))
        dropout = self.dropout if self.training else 0.0
        context = F.scaled_dot_product_attention(*heads_first, attn_mask=mask, dropout_p=dropout)
        return dense(self.output, context.transpose(1, 2).flatten(2), updates, "output")


class LitebertFeedForward(nn.Module):
    """Feed-forward layer, plain or gated, without its residual connection and norm."""

    def __init__(self, config: LitebertConfig):
        super().__init__()
        hidden, inner, bias = config.hidden_size, config.intermediate_size, config.use_bias
        self.up = nn.Linear(hidden, inner, bias=bias)
        self.gate = nn.Linear(hidden, inner, bias=bias) if config.gated_feed_forward else None
        self.down = nn.Linear(inner, hidden, bias=bias)
        self.norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
        self.activation = ACT2FN[config.hidden_act]

    def forward(self, x: Tensor, updates: Updates) -> Tensor:
        """Outputs [B, S, H]."""
        up = dense(self.up, x, updates, "up")
        inner = self.activation(up) if self.gate is None else self.activation(dense(self.gate, x, updates, "gate")) * up
        return dense(self.down, inner, updates, "down")


def dense(layer: nn.Linear, x: Tensor, updates: Updates, name: str) -> Tensor:
    """Outputs of a dense layer with the update of its name, if there is one."""
    if name not in updates:
        return layer(x)
    return F.linear(x, layer.weight + updates[name], layer.bias)


def position_loss(logits: Tensor, positions: Tensor) -> Tensor:
    """Mean cross-entropy of positions, without those beyond the sequence, as in `AlbertForQuestionAnswering`."""
    length = logits.shape[1]
    return F.cross_entropy(logits, positions.clamp(0, length), ignore_index=length)


def mean_of_tokens(states: Tensor, mask: Tensor | None) -> Tensor:
    """The mean of the hidden states [B, S, H] where `mask` is 1; zeros if it never is."""
    if mask is None:
        return states.mean(1)
    states = states.masked_fill(mask[..., None] == 0, 0)
    return states.sum(1) / mask.sum(1, keepdim=True).clamp(min=1).to(states.dtype)
