"""Which of two segments comes first, from the sentence-pair head of a pretrained model."""

from collections.abc import Sequence

import numpy as np
import torch

from litebert.inference.pipeline import model_outputs
from litebert.model.model_inputs import ModelInputs
from litebert.model.models import ForPretraining
from litebert.settings import InferencePrecision
from litebert.tasks.encoded import encode_segments
from litebert.tokenization.tokenizer import Tokenizer


def order_probabilities(
    model: ForPretraining,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    *,
    precision: InferencePrecision = "fp32",
) -> np.ndarray:
    """Float32 [N]: for each pair of segments, the probability that the first one comes before the second one.

    Raises DataError for a segment without a token.

    Source: class 0 of `get_sentence_order_output` in run_pretraining.py of google-research/albert.
    """
    encoded = encode_segments(pairs, tokenizer, max_length=model.config.max_position_embeddings)
    return np.array(model_outputs(model, encoded, _probabilities, precision=precision), np.float32)


def _probabilities(model: torch.nn.Module, inputs: ModelInputs) -> Sequence[float]:
    assert isinstance(model, ForPretraining)
    pooled = model.encoder.pooled(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    return model.sentence_pair(pooled).float().softmax(-1)[:, 0].tolist()
