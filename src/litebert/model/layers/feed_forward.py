"""Position-wise feed-forward layer with residual connection and LayerNorm."""

from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.layers.activations import ACTIVATIONS
from litebert.model.layers.dense import apply_dense, to_autocast_dtype
from litebert.model.layers.recursion_lora import NO_UPDATES, WeightUpdates


class FeedForward(nn.Module):
    """One stored feed-forward block. Source: `attention_ffn_block` of google-research/albert.

    The gated form is GEGLU of Shazeer 2020 (arXiv 2002.05202), equation 6.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden, inner, bias = config.hidden_size, config.intermediate_size, config.use_bias
        self.up = nn.Linear(hidden, inner, bias=bias)
        self.gate = nn.Linear(hidden, inner, bias=bias) if config.gated_feed_forward else None
        self.down = nn.Linear(inner, hidden, bias=bias)
        self.norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.norm_first = config.norm_first

    def forward(self, x: Float[Tensor, "B S H"], updates: WeightUpdates = NO_UPDATES) -> Float[Tensor, "B S H"]:
        """`LayerNorm(x + f(x))`, or `x + f(LayerNorm(x))` with `norm_first`; f is the feed-forward layer."""
        if self.norm_first:
            return x + self.dropout(self._feed_forward(self.norm(x), updates))
        return self.norm(x + self.dropout(self._feed_forward(x, updates)))

    def _feed_forward(self, x: Float[Tensor, "B S H"], updates: WeightUpdates) -> Float[Tensor, "B S H"]:
        read = to_autocast_dtype(x)
        up = apply_dense(self.up, read, updates.get("up"))
        if self.gate is None:
            inner = self.activation(up)
        else:
            inner = self.activation(apply_dense(self.gate, read, updates.get("gate"))) * up
        return apply_dense(self.down, inner, updates.get("down"))
