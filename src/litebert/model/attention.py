"""Self-attention with residual and post-norm. Before: the embeddings or a feed-forward. After: `feed_forward.py`."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.kernels import attention_probabilities
from litebert.model.layout import Layout


class Attention(nn.Module):
    """One stored attention block. Source: `attention_layer` and `attention_ffn_block` in the original modeling.py.

    Query, key and value stay three parameters: LAMB gives each its own trust ratio.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.probability_dropout = config.attention_probs_dropout_prob
        self.heads = (config.num_attention_heads, config.head_size)

    def forward(self, x: Float[Tensor, "B S H"], layout: Layout) -> Float[Tensor, "B S H"]:
        """`x` and what its tokens see of each other, normalised."""
        read = _in_autocast_type(x)
        query, key, value = self._split(self.query(read)), self._split(self.key(read)), self._split(self.value(read))
        context = layout.attend(query, key, value, dropout=self.probability_dropout if self.training else 0.0)
        return self.norm(x + self.dropout(self.output(context.flatten(2))))

    def probabilities(self, x: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B A S S"]:
        """How much each token of `x` attends to each other, for analysis: no dropout."""
        return attention_probabilities(self._split(self.query(x)), self._split(self.key(x)), mask[:, None])

    def _split(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S A D"]:
        return x.unflatten(-1, self.heads)


def _in_autocast_type(x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S H"]:
    """`x` cast once; autocast would make, and keep for the backward pass, a copy for each of query, key and value."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x
