"""Self-attention with residual and post-norm. Before: the embeddings or a feed-forward. After: `feed_forward.py`."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.kernels.attention_kernels import attention_probabilities
from litebert.model.kernels.layout import Layout

FusedQKV = tuple[Float[Tensor, "H3 H"], Float[Tensor, " H3"]]
"""Weight and bias of query, key and value, one below the other."""


class Attention(nn.Module):
    """One stored attention block. Source: `attention_layer` and `attention_ffn_block` in the original modeling.py.

    Query, key and value stay three parameters: LAMB gives each its own trust ratio.
    """

    num_frozen_heads: int
    """So many of the last heads keep looking as they do: no gradient reaches their query and key."""

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
        self.num_frozen_heads = 0

    def joined(self) -> FusedQKV:
        """Query, key and value as one dense layer, in the type of the products.

        Made once, it serves every layer, forward and backward; a forward alone is as fast without this copy.
        """
        held, value = (self.query, self.key), self.value
        weight = torch.cat([*(self._without_held(part.weight) for part in held), value.weight])
        bias = torch.cat([*(self._without_held(part.bias) for part in held), value.bias])
        return _in_autocast_type(weight), _in_autocast_type(bias)

    def forward(
        self,
        x: Float[Tensor, "B S H"],
        layout: Layout,
        joined: FusedQKV | None = None,
        at: Int[Tensor, " P"] | None = None,
    ) -> Float[Tensor, "B2 S2 H"]:
        """`x` and what its tokens see of each other, normalised; if wanted, only `at` flat positions, as one row."""
        read = _in_autocast_type(x)
        apart = (self.query, self.key, self.value)
        parts = F.linear(read, *joined).chunk(3, dim=-1) if joined else [part(read) for part in apart]
        query, key, value = (self._split(part) for part in parts)
        context = layout.attend(query, key, value, dropout=self.attention_dropout if self.training else 0.0)
        context = context.flatten(2)
        if at is not None:
            x, context = layout.take(x, at), layout.take(context, at)
        return self.norm(x + self.dropout(self.output(context)))

    def probabilities(self, x: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B A S S"]:
        """How much each token of `x` attends to each other, for analysis: no dropout."""
        return attention_probabilities(self._split(self.query(x)), self._split(self.key(x)), mask[:, None])

    def _without_held(self, rows: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """The same numbers; gradients reach the rows of heads that are not held."""
        if not self.num_frozen_heads:
            return rows
        free = len(rows) - self.num_frozen_heads * self.heads[1]
        return torch.cat([rows[:free], rows[free:].detach()])

    def _split(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S A D"]:
        return x.unflatten(-1, self.heads)


def _in_autocast_type(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`x` cast once; autocast would make, and keep for the backward pass, a copy for each of query, key and value."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
