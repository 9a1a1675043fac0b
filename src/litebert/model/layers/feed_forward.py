"""Position-wise feed-forward layer with residual connection and post-norm."""

from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.layers.activations import ACTIVATIONS


class FeedForward(nn.Module):
    """One stored feed-forward block. Source: `attention_ffn_block` of google-research/albert."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S H"]:
        """`LayerNorm(x + feed_forward(x))`."""
        return self.norm(x + self.dropout(self.down(self.activation(self.up(x)))))
