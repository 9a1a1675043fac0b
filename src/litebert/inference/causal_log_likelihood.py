"""Log-likelihood of sentences under a model that was trained with a share of causal steps.

Each token is predicted from those before it, so that one forward pass scores a sentence.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from litebert.inference.inference_model import inference_model
from litebert.inference.pseudo_log_likelihood import TOKENS_PER_BATCH, sentences_by_length
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import InferencePrecision
from litebert.tokenization.tokenizer import Tokenizer


def causal_log_likelihoods(
    model: ForPretraining | ForMaskedLM,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    *,
    precision: InferencePrecision = "fp32",
) -> np.ndarray:
    """Float64 [N]: natural logarithm of the probability of each sentence and of its end.

    Raises DataError for a sentence without tokens or with more than the model has positions.
    """
    device = next(model.parameters()).device
    scores = np.zeros(len(sentences))
    groups = sentences_by_length(tokenizer, sentences, longest=model.config.max_position_embeddings)
    with inference_model(model, precision) as running:
        for length, group in groups.items():
            size = max(1, TOKENS_PER_BATCH // (length + 2))
            for start in range(0, len(group), size):
                indices, ids = zip(*group[start : start + size], strict=True)
                ends = np.ones((len(ids), 1), dtype=np.int64)
                rows = np.hstack([ends * tokenizer.cls_id, np.stack(ids), ends * tokenizer.sep_id])
                found = _log_probabilities(cast(Any, running), torch.from_numpy(rows).to(device))
                scores[list(indices)] = found.double().cpu().numpy()
    return scores


def _log_probabilities(model: ForPretraining | ForMaskedLM, input_ids: Int[Tensor, "B S"]) -> Float[Tensor, " B"]:
    """Sum of the log probabilities of all tokens but the first."""
    mask, token_types = torch.ones_like(input_ids, dtype=torch.bool), torch.zeros_like(input_ids)
    states = model.encoder(input_ids, mask, token_types, causal=True).last_hidden_state[:, :-1]
    logits = model.mlm(states, model.encoder.embeddings.word.weight).float()
    chosen = logits.gather(-1, input_ids[:, 1:, None])[..., 0]
    return (chosen - logits.logsumexp(-1)).sum(1)
