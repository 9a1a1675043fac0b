"""Multi-head self-attention with residual connection and LayerNorm."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.kernels.attention_kernels import attention_probabilities
from litebert.model.kernels.layout import Layout
from litebert.model.layers.dense import apply_dense, to_autocast_dtype
from litebert.model.layers.recursion_lora import NO_UPDATES, WeightUpdates
from litebert.model.layers.rotary import Rotation, rotate


class FusedQKV(NamedTuple):
    """Query, key and value as one dense layer."""

    weight: Float[Tensor, "H3 H"]
    bias: Float[Tensor, " H3"] | None


class BlockInputs(NamedTuple):
    """What a block reads besides the hidden states."""

    layout: Layout
    """Which tokens attend to which."""
    fused_qkv: FusedQKV | None = None
    """`Attention.fused_qkv()`; None: query, key and value are three products."""
    positions: Int[Tensor, " P"] | None = None
    """Flat positions b·S + s to compute the output for; None: all."""
    rotation: Rotation | None = None
    """Rotation of queries and keys; None: absolute positions."""
    updates: WeightUpdates = NO_UPDATES
    """Low-rank updates of the dense layers; those of query, key and value are already in `fused_qkv`, if given."""


class Attention(nn.Module):
    """One stored attention block. Source: `attention_layer` and `attention_ffn_block` of google-research/albert.

    Query, key and value are three parameters, because LAMB gives each its own trust ratio.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden, bias = config.hidden_size, config.use_bias
        self.query = nn.Linear(hidden, hidden, bias=bias)
        self.key = nn.Linear(hidden, hidden, bias=bias)
        self.value = nn.Linear(hidden, hidden, bias=bias)
        self.output = nn.Linear(hidden, hidden, bias=bias)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.attention_dropout = config.attention_probs_dropout_prob
        self.norm_first = config.norm_first
        self.heads = (config.num_attention_heads, config.head_size)

    def fused_qkv(self, updates: WeightUpdates = NO_UPDATES) -> FusedQKV:
        """Query, key and value as one dense layer, in the dtype of the matrix products.

        One copy serves every layer without `updates`, forward and backward. A forward pass alone is as fast without it.
        """
        layers = {name: getattr(self, name) for name in ("query", "key", "value")}
        weights = [layer.weight + updates[name] if updates else layer.weight for name, layer in layers.items()]
        biases = [layer.bias for layer in layers.values() if layer.bias is not None]
        bias = to_autocast_dtype(torch.cat(biases)) if biases else None
        return FusedQKV(to_autocast_dtype(torch.cat(weights)), bias)

    def forward(self, x: Float[Tensor, "B S H"], inputs: BlockInputs) -> Float[Tensor, "B2 S2 H"]:
        """`LayerNorm(x + attention(x))`, or `x + attention(LayerNorm(x))` with `norm_first`.

        At `inputs.positions` only, as one row, where they are given.
        """
        query, key, value = self._query_key_value(self.norm(x) if self.norm_first else x, inputs)
        dropout = self.attention_dropout if self.training else 0.0
        context = inputs.layout.attend(query, key, value, dropout=dropout).flatten(2)
        if inputs.positions is not None:
            x, context = inputs.layout.take(x, inputs.positions), inputs.layout.take(context, inputs.positions)
        x = x + self.dropout(apply_dense(self.output, context, inputs.updates.get("output")))
        return x if self.norm_first else self.norm(x)

    def probabilities(
        self, x: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"], inputs: BlockInputs
    ) -> Float[Tensor, "B A S S"]:
        """Attention probabilities of the padded batch `x`, without dropout."""
        query, key, _ = self._query_key_value(self.norm(x) if self.norm_first else x, inputs)
        return attention_probabilities(query, key, mask[:, None])

    def _query_key_value(self, x: Float[Tensor, "B S H"], inputs: BlockInputs) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of every head, B S A D; queries and keys are rotated."""
        read = to_autocast_dtype(x)
        if inputs.fused_qkv:
            projected = F.linear(read, *inputs.fused_qkv).chunk(3, dim=-1)
        else:
            layers = {"query": self.query, "key": self.key, "value": self.value}
            projected = (apply_dense(layer, read, inputs.updates.get(name)) for name, layer in layers.items())
        query, key, value = (self._split_heads(part) for part in projected)
        if inputs.rotation is None:
            return query, key, value
        return rotate(query, inputs.rotation), rotate(key, inputs.rotation), value

    def _split_heads(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S A D"]:
        return x.unflatten(-1, self.heads)
