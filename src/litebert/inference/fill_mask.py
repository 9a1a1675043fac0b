"""Masked words filled in by a pretrained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from litebert.errors import DataError
from litebert.inference.inference_model import inference_model
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Feature, pad
from litebert.tasks.types.task_type import Result
from litebert.tokenization.tokenizer import Tokenizer

MASK: Final = "[MASK]"
DEFAULT_TOP_K: Final = 5
MASKED_LANGUAGE_MODELS: Final = ("ForPretraining", "ForMaskedLM")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token for a mask."""

    piece: str
    """The token in the vocabulary; `▁` marks the start of a word."""
    probability: float

    @property
    def word(self) -> str:
        """The token without the marker."""
        return self.piece.replace("▁", " ").strip()


@dataclass(frozen=True, slots=True)
class FilledMasks(Result):
    """The candidates for every mask of a text."""

    masks: tuple[tuple[Candidate, ...], ...]
    """Best first."""

    def to_record(self) -> dict[str, Any]:
        """The best words, their joint probability, and the candidates of every mask."""
        best = [candidates[0] for candidates in self.masks]
        return {
            "prediction": " ".join(candidate.word for candidate in best),
            "probability": prod(candidate.probability for candidate in best),
            "masks": [{candidate.piece: candidate.probability for candidate in each} for each in self.masks],
        }


@dataclass(frozen=True, kw_only=True)
class FillMask:
    """A pretrained model that fills in masks."""

    model: nn.Module
    tokenizer: Tokenizer
    max_length: int
    precision: InferencePrecision = "fp32"

    def results(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        return [FilledMasks(self._fill(text, top_k)) for text in texts]

    def _fill(self, text: str, top_k: int) -> tuple[tuple[Candidate, ...], ...]:
        feature = self._feature(text)
        device = next(self.model.parameters()).device
        (positions,) = np.nonzero(feature.input_ids == self.tokenizer.mask_id)
        inputs = pad([feature], pad_id=self.tokenizer.pad_id).to(device)
        masked = torch.from_numpy(positions).to(device)
        with inference_model(self.model, self.precision) as model:
            output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, masked)
        best = output.mlm_logits.float().softmax(-1).topk(min(top_k, self.tokenizer.vocab_size))
        return tuple(
            tuple(Candidate(self.tokenizer.id_to_piece(piece), value) for piece, value in zip(*each, strict=True))
            for each in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        )

    def _feature(self, text: str) -> Feature:
        """`[CLS] text [SEP]` with the mask token for every "[MASK]", which the tokenizer never makes from text."""
        parts = text.split(MASK)
        first, *others = self.tokenizer.encode_batch(parts)
        ids = [self.tokenizer.cls_id, *first]
        for part, part_ids in zip(parts[1:], others, strict=True):
            ids += [self.tokenizer.mask_id, *self._without_added_space(part, part_ids)]
        ids.append(self.tokenizer.sep_id)
        if not others:
            raise DataError(f"{text[:60]!r}: has no {MASK}; write {MASK} where the model should fill in a word")
        if len(ids) > self.max_length:
            raise DataError(f"{text[:60]!r}…: {len(ids)} tokens, the model reads {self.max_length}; shorten the text")
        return Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8))

    def _without_added_space(self, text: str, ids: list[int]) -> list[int]:
        """Ids of a text directly after a mask, as in "[MASK].", without the space that the tokenizer adds."""
        follows_directly = bool(text) and not text[0].isspace()
        return ids[1:] if follows_directly and ids and self.tokenizer.id_to_piece(ids[0]) == "▁" else ids
