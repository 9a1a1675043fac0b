"""Multi-head self-attention with residual connection and post-norm."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.kernels.attention_kernels import attention_probabilities
from litebert.model.kernels.layout import Layout


class FusedQKV(NamedTuple):
    """Query, key and value as one dense layer."""

    weight: Float[Tensor, "H3 H"]
    bias: Float[Tensor, " H3"]


class BlockInputs(NamedTuple):
    """What a block reads besides the hidden states."""

    layout: Layout
    """Which tokens attend to which."""
    fused_qkv: FusedQKV | None = None
    """`Attention.fused_qkv()`; None: query, key and value are three products."""
    positions: Int[Tensor, " P"] | None = None
    """Flat positions b·S + s to compute the output for; None: all."""


class Attention(nn.Module):
    """One stored attention block. Source: `attention_layer` and `attention_ffn_block` of google-research/albert.

    Query, key and value are three parameters, because LAMB gives each its own trust ratio.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.attention_dropout = config.attention_probs_dropout_prob
        self.heads = (config.num_attention_heads, config.head_size)

    def fused_qkv(self) -> FusedQKV:
        """Query, key and value as one dense layer, in the dtype of the matrix products.

        One copy serves every layer, forward and backward. A forward pass alone is as fast without it.
        """
        layers = (self.query, self.key, self.value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        return FusedQKV(_to_autocast_dtype(weight), _to_autocast_dtype(bias))

    def forward(self, x: Float[Tensor, "B S H"], inputs: BlockInputs) -> Float[Tensor, "B2 S2 H"]:
        """`LayerNorm(x + attention(x))`, at `inputs.positions` only, as one row, where they are given."""
        read = _to_autocast_dtype(x)
        if inputs.fused_qkv:
            projected = F.linear(read, *inputs.fused_qkv).chunk(3, dim=-1)
        else:
            projected = (self.query(read), self.key(read), self.value(read))
        query, key, value = (self._split_heads(part) for part in projected)
        dropout = self.attention_dropout if self.training else 0.0
        context = inputs.layout.attend(query, key, value, dropout=dropout).flatten(2)
        if inputs.positions is not None:
            x, context = inputs.layout.take(x, inputs.positions), inputs.layout.take(context, inputs.positions)
        return self.norm(x + self.dropout(self.output(context)))

    def probabilities(self, x: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B A S S"]:
        """Attention probabilities of `x`, without dropout."""
        query, key = self._split_heads(self.query(x)), self._split_heads(self.key(x))
        return attention_probabilities(query, key, mask[:, None])

    def _split_heads(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S A D"]:
        return x.unflatten(-1, self.heads)


def _to_autocast_dtype(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x`, cast once; autocast would cast it, and store the copy, for each of query, key and value."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
