"""Texts to vectors with the encoder of any model."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from torch import nn

from litebert.errors import ConfigError, NotFiniteError
from litebert.inference.backend import WithoutTaskType
from litebert.inference.embeddings.embedding_settings import DEFAULT_EMBEDDING, EmbeddingSettings
from litebert.inference.pipeline import model_outputs
from litebert.inference.prediction_methods import unit_length
from litebert.model.config import Pooling
from litebert.model.encoder_outputs import POOLERS
from litebert.model.model_inputs import ModelInputs
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, encode_texts, warn_empty
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

TEXTS_PER_PART: Final = 4096
"""Texts whose tokens are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class Embedder(WithoutTaskType):
    """An encoder with its tokenizer and the settings that are resolved for it."""

    model: nn.Module
    """Has an `encoder`."""
    tokenizer: Tokenizer
    pooling: Pooling
    normalize: bool
    dimensions: int
    max_length: int
    precision: InferencePrecision = "fp32"
    place: str = "the model"
    """What messages call it: its directory, if it was loaded from one."""

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
        config = model.config
        limits = {"dimensions": config.hidden_size, "max_length": config.max_position_embeddings}
        for name, limit in limits.items():
            given = getattr(settings, name)
            if given is not None and given > limit:
                raise ConfigError(f"{name}: {given} is more than the {limit} of the model; give at most {limit}")
        return cls(
            model=model,
            tokenizer=tokenizer,
            pooling=settings.pooling or getattr(model, "pooling", "mean"),
            normalize=settings.normalize,
            dimensions=settings.dimensions or config.hidden_size,
            max_length=settings.max_length or config.max_position_embeddings,
            precision=precision,
            place=place,
        )

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Float32 [N, dimensions]: the vector of each text; warns of empty texts.

        Raises NotFiniteError if a vector is not finite.
        """
        vectors, counts = self.vectors_and_counts(texts)
        warn_empty("texts", counts["empty"], rows=len(texts))
        return vectors

    def vectors_and_counts(self, texts: Sequence[str]) -> tuple[np.ndarray, Counter[str]]:
        """The vectors of `embed`, and how many texts are truncated or empty (`Encoded.text_counts`).

        The vector of an empty text is that of the special tokens alone.
        """
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        counts = Counter[str]()
        for start in range(0, len(texts), TEXTS_PER_PART):
            part = slice(start, start + TEXTS_PER_PART)
            encoded = encode_texts(texts[part], self.tokenizer, max_length=self.max_length)
            vectors[part] = self._embed(encoded)
            counts += encoded.text_counts
        return vectors, counts

    def warn(self, place: str, counts: Mapping[str, int], *, texts: int) -> None:
        """Warn of those of the `texts` of a place, a file or an argument, that are truncated or empty."""
        if truncated := counts.get("truncated", 0):
            details = (place, truncated, texts, self.max_length)
            logger.warning("%s: %d of %d texts are longer than %d tokens, max_length, and were truncated", *details)
        warn_empty(place, counts.get("empty", 0), rows=texts)

    def _embed(self, encoded: Encoded) -> np.ndarray:
        states = model_outputs(self.model, encoded, self._forward, precision=self.precision)
        vectors = np.stack(states)[:, : self.dimensions]
        if not np.isfinite(vectors).all():
            raise NotFiniteError(self.place)
        return unit_length(vectors) if self.normalize else vectors

    def _forward(self, model: Any, inputs: ModelInputs) -> Sequence[np.ndarray]:
        pooled = POOLERS[self.pooling](model.encoder(*inputs).last_hidden_state, inputs.attention_mask)
        return list(pooled.float().cpu().numpy())
