"""Texts to vectors with the encoder of any model in torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import nn

from litebert.inference.backend import WithoutTaskType
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.inference.embeddings.text_embedder import TextEmbedder, limited
from litebert.inference.pipeline import model_outputs
from litebert.model.encoder_outputs import POOLERS
from litebert.model.model_inputs import ModelInputs
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Embedder(TextEmbedder, WithoutTaskType):
    """An encoder in torch."""

    model: nn.Module
    """Has an `encoder`."""

    @property
    def task(self) -> str:
        """`embedding`."""
        return "embedding"

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: Tokenizer,
        settings: EmbeddingSettings = DEFAULT_EMBEDDING,
        *,
        precision: InferencePrecision = "fp32",
        place: str = "the model",
    ) -> Self:
        """An embedder with any model of `models.py`; ConfigError for more dimensions or tokens than it has."""
        config, stored = model.config, getattr(model, "max_length", None)
        return cls(
            model=model,
            tokenizer=tokenizer,
            pooling=settings.pooling or getattr(model, "pooling", "mean"),
            normalize=settings.normalize,
            dimensions=limited("dimensions", settings.dimensions, config.hidden_size),
            max_length=limited("max_length", settings.max_length or stored, config.max_position_embeddings),
            precision=precision,
            place=place,
        )

    def _pooled(self, encoded: Encoded) -> Sequence[np.ndarray]:
        return model_outputs(self.model, encoded, self._forward, precision=self.precision)

    def _forward(self, model: Any, inputs: ModelInputs) -> Sequence[np.ndarray]:
        pooled = POOLERS[self.pooling](model.encoder(*inputs).last_hidden_state, inputs.attention_mask)
        return list(pooled.float().cpu().numpy())
