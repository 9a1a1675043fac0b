"""Masked words filled in by a pretrained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from torch import nn

from litebert.errors import NotFiniteError
from litebert.inference.backend import WithoutTaskType
from litebert.inference.pipeline import model_outputs
from litebert.model.model_inputs import ModelInputs
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import Encoded, Feature
from litebert.tasks.masked_text import DEFAULT_TOP_K, filled_masks, masked_feature
from litebert.tasks.results import FilledMasks
from litebert.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class FillMask(WithoutTaskType):
    """A pretrained model that fills in masks."""

    model: ForPretraining | ForMaskedLM
    tokenizer: Tokenizer
    max_length: int
    precision: InferencePrecision = "fp32"
    place: str = "the model"
    """What messages call it: its directory, if it was loaded from one."""

    @property
    def task(self) -> str:
        """`fill_mask`."""
        return "fill_mask"

    def encode(self, text: str) -> Feature:
        """The sequence of a text; DataError for one without a mask or too long."""
        return masked_feature(text, self.tokenizer, max_length=self.max_length)

    def results(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledMasks]:
        """The `top_k` best candidates for each `[MASK]` of each text.

        Raises DataError for a text without one or too long, NotFiniteError if a logit is not finite.
        """
        features = [self.encode(text) for text in texts]
        encoded = Encoded(features, [None] * len(features), self.tokenizer.pad_id)
        return model_outputs(self.model, encoded, partial(self._filled, top_k=top_k), precision=self.precision)

    def _filled(self, model: nn.Module, inputs: ModelInputs, *, top_k: int) -> list[FilledMasks]:
        """The candidates for the masks of each sequence of one batch."""
        is_mask = inputs.input_ids == self.tokenizer.mask_id
        masked = is_mask.flatten().nonzero().flatten()
        logits = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, masked).mlm_logits
        if not logits.isfinite().all():
            raise NotFiniteError(self.place)
        probabilities = logits[:, : self.tokenizer.vocab_size].float().softmax(-1).cpu().split(is_mask.sum(1).tolist())
        return [filled_masks(each.numpy(), self.tokenizer, top_k=top_k) for each in probabilities]
