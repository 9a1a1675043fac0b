"""Token, token-type and position embeddings, of width E."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from litebert.model.config import ModelConfig


class Embeddings(nn.Module):
    """Sum of word, token-type and absolute position embeddings, normalised. Source: `embedding_postprocessor`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.embedding_size)
        self.token_type = nn.Embedding(config.type_vocab_size, config.embedding_size)
        absolute = config.position_embedding == "absolute"
        self.position = nn.Embedding(config.max_position_embeddings, config.embedding_size) if absolute else None
        self.norm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, input_ids: Int[Tensor, "B S"], token_type_ids: Int[Tensor, "B S"], positions: Int[Tensor, "#B S"]
    ) -> Float[Tensor, "B S E"]:
        """Embeddings of tokens at `positions` of their sequences; with rotary positions these have no embedding."""
        summed = self.word(input_ids) + self.token_type(token_type_ids)
        if self.position is not None:
            summed = summed + self.position(positions)
        return self.dropout(self.norm(summed))
