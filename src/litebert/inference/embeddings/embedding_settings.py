"""Settings of embeddings."""

from typing import Final

from pydantic import Field

from litebert.model.config import Pooling
from litebert.settings import Settings


class EmbeddingSettings(Settings):
    """How a text becomes a vector."""

    pooling: Pooling | None = None
    """`mean` of the last hidden states, special tokens included, or that of the first token, `cls` (default: that of a
    `SentenceEmbedder`, otherwise `mean`)."""
    normalize: bool = True
    """Scale vectors to length 1, so that their dot product is the cosine."""
    dimensions: int | None = Field(default=None, gt=0)
    """Keep only the first dimensions, before the scaling (default: all)."""
    max_length: int | None = Field(default=None, ge=3)
    """Tokens after which a text is truncated (default: that of a `SentenceEmbedder` that has one, otherwise as many as
    the model has positions)."""


DEFAULT_EMBEDDING: Final = EmbeddingSettings()
