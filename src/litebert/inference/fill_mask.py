"""Masked words filled in by a pretrained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import nn

from litebert.inference.inference_model import inference_model
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import pad
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

    def results(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text; DataError for a text without one or too long."""
        return [filled_masks(self._probabilities(text), self.tokenizer, top_k=top_k) for text in texts]

    def _probabilities(self, text: str) -> np.ndarray:
        """Float32 [P, V] for the masks of a text."""
        feature = masked_feature(text, self.tokenizer, max_length=self.max_length)
        device = next(self.model.parameters()).device
        (positions,) = np.nonzero(feature.input_ids == self.tokenizer.mask_id)
        inputs = pad([feature], pad_id=self.tokenizer.pad_id).to_tensors().to(device)
        masked = torch.from_numpy(positions).to(device)
        with inference_model(self.model, self.precision) as model:
            output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, masked)
        return output.mlm_logits.float().softmax(-1).cpu().numpy()
