"""Masked words filled in by a pretrained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import nn

from litebert.inference.inference_model import inference_model
from litebert.inference.pipeline import TOKENS_PER_BATCH
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Feature, batches_by_length, pad
from litebert.tasks.masked_text import DEFAULT_TOP_K, filled_masks, masked_feature
from litebert.tasks.results import FilledMasks
from litebert.tokenization.tokenizer import Tokenizer

MASKED_LANGUAGE_MODELS: Final = ("ForPretraining", "ForMaskedLM")


@dataclass(frozen=True, kw_only=True)
class FillMask:
    """A pretrained model that fills in masks."""

    model: nn.Module
    tokenizer: Tokenizer
    max_length: int
    precision: InferencePrecision = "fp32"

    def encode(self, text: str) -> Feature:
        """The sequence of a text; DataError for one without a mask or too long."""
        return masked_feature(text, self.tokenizer, max_length=self.max_length)

    def results(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        features = [self.encode(text) for text in texts]
        lengths = np.array([len(each.input_ids) for each in features], np.int64)
        filled: list[Any] = [None] * len(features)
        for batch in batches_by_length(lengths, tokens_per_batch=TOKENS_PER_BATCH):
            for index, probabilities in zip(batch, self._probabilities([features[i] for i in batch]), strict=True):
                filled[index] = filled_masks(probabilities, self.tokenizer, top_k=top_k)
        return filled

    def _probabilities(self, features: Sequence[Feature]) -> list[np.ndarray]:
        """Float32 [P, V] for the masks of each sequence of one batch."""
        device = next(self.model.parameters()).device
        inputs = pad(features, pad_id=self.tokenizer.pad_id).to_tensors().to(device)
        is_mask = inputs.input_ids == self.tokenizer.mask_id
        with inference_model(self.model, self.precision) as model:
            masked = is_mask.flatten().nonzero().flatten()
            output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, masked)
        probabilities = output.mlm_logits.float().softmax(-1).cpu()
        return [each.numpy() for each in probabilities.split(is_mask.sum(1).tolist())]
