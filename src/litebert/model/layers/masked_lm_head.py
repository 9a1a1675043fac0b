"""The head of masked language models."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import ModelConfig
from litebert.model.layers.block import ACTIVATIONS


class MaskedLMHead(nn.Module):
    """Logits of the vocabulary; the output matrix is the word embeddings. Source: `get_masked_lm_output`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)
        self.norm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, states: Float[Tensor, "*P H"], word_embeddings: Float[Tensor, "V E"]) -> Float[Tensor, "*P V"]:
        """Logits of the original tokens at the positions of `states`."""
        return F.linear(self.norm(self.activation(self.dense(states))), word_embeddings, self.bias)
