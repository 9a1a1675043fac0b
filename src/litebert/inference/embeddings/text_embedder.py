"""`TextEmbedder`: texts → sequences → pooled states → vectors, for torch and for exports; it loads no torch."""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from litebert.errors import ConfigError, NotFiniteError
from litebert.inference.prediction_methods import unit_length
from litebert.tasks.encoded import Encoded, encode_texts, warn_empty
from litebert.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    from litebert.settings import InferencePrecision

logger = logging.getLogger(__name__)

TEXTS_PER_PART: Final = 4096
"""Texts whose tokens are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class TextEmbedder(ABC):
    """An encoder with its tokenizer and the settings that are resolved for it."""

    tokenizer: Tokenizer
    pooling: Literal["mean", "cls"]
    normalize: bool
    dimensions: int
    max_length: int
    precision: "InferencePrecision" = "fp32"
    """Arithmetic of the model; never `auto`."""
    place: str = "the model"
    """What messages call it: its directory, if it was loaded from one."""

    @abstractmethod
    def _pooled(self, encoded: Encoded) -> Sequence[np.ndarray]:
        """The pooled hidden states of each text, float32 [H]."""

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
        vectors = np.stack(self._pooled(encoded))[:, : self.dimensions]
        if not np.isfinite(vectors).all():
            raise NotFiniteError(self.place)
        return unit_length(vectors) if self.normalize else vectors


def limited(name: str, given: int | None, limit: int) -> int:
    """`given`, or the limit of the model where nothing is given; ConfigError for more."""
    if given is not None and given > limit:
        raise ConfigError(f"{name}: {given} is more than the {limit} of the model; give at most {limit}")
    return given or limit
