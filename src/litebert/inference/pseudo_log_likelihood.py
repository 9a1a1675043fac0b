"""Pseudo-log-likelihood of sentences under a masked language model.

Each token is predicted from a copy of its sentence in which it is masked; the score of a sentence is the sum of the log
probabilities of its tokens. Source: Salazar et al. 2020, "Masked Language Model Scoring"; the two corrections for words
of several tokens are those of Kauf and Ivanova 2023, "A Better Way to Do Masked Language Model Scoring".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import torch
from torch import Tensor

from litebert.errors import DataError
from litebert.inference.inference_model import inference_model
from litebert.inference.word_masking import Masking
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import InferencePrecision
from litebert.tokenization.tokenizer import Tokenizer

MASKINGS: tuple[Masking, ...] = get_args(Masking)
TOKENS_PER_BATCH = 16_384


@dataclass(frozen=True, slots=True)
class MaskedCopies:
    """Copies of sentences of one length, each with one token to predict."""

    sentence: np.ndarray
    """Int64 [N]: which sentence each copy belongs to."""
    input_ids: np.ndarray
    """Int64 [N, S], special tokens included."""
    position: np.ndarray
    """Int64 [N]: the token to predict."""
    label: np.ndarray
    """Int64 [N]: its id."""


def pseudo_log_likelihoods(
    model: ForPretraining | ForMaskedLM,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    *,
    masking: Masking = "token",
    precision: InferencePrecision = "fp32",
) -> np.ndarray:
    """Float64 [N]: the score of each sentence, natural logarithm; higher is more likely.

    Raises DataError for a sentence without tokens or with more than the model has positions.
    """
    device = next(model.parameters()).device
    scores = np.zeros(len(sentences))
    longest = model.config.max_position_embeddings
    with inference_model(model, precision) as running:
        for copies in masked_copies(tokenizer, sentences, masking=masking, longest=longest):
            found = _log_probabilities(cast(Any, running), copies, device)
            np.add.at(scores, copies.sentence, found.double().cpu().numpy())
    return scores


def masked_copies(
    tokenizer: Tokenizer, sentences: Sequence[str], *, masking: Masking, longest: int
) -> Iterator[MaskedCopies]:
    """All copies of all sentences in batches of one length, so that nothing is padded."""
    for length, group in sentences_by_length(tokenizer, sentences, longest=longest).items():
        size = max(1, TOKENS_PER_BATCH // (length * (length + 2)))
        for start in range(0, len(group), size):
            yield _copies(tokenizer, group[start : start + size], masking)


def sentences_by_length(
    tokenizer: Tokenizer, sentences: Sequence[str], *, longest: int
) -> dict[int, list[tuple[int, np.ndarray]]]:
    """Number of tokens → index and tokens of each sentence; DataError for one without tokens or too many of them."""
    by_length: dict[int, list[tuple[int, np.ndarray]]] = {}
    for index, ids in enumerate(tokenizer.encode_batch(list(sentences))):
        if not ids or len(ids) + 2 > longest:
            raise DataError(
                f"sentence {index + 1}: {len(ids)} tokens; expected 1 to {longest - 2}, as the model has positions for"
            )
        by_length.setdefault(len(ids), []).append((index, np.array(ids)))
    return by_length


def _copies(tokenizer: Tokenizer, group: Sequence[tuple[int, np.ndarray]], masking: Masking) -> MaskedCopies:
    """The copies of sentences of one length S: one for each of their tokens."""
    ids = np.stack([sentence for _, sentence in group])
    count, length = ids.shape
    masked = _masked_with(tokenizer.word_starts[ids], masking)
    copies = np.where(masked, tokenizer.mask_id, ids[:, None, :]).reshape(-1, length)
    ends = np.ones((len(copies), 1), dtype=np.int64)
    return MaskedCopies(
        sentence=np.repeat([index for index, _ in group], length),
        input_ids=np.hstack([ends * tokenizer.cls_id, copies, ends * tokenizer.sep_id]),
        position=np.tile(np.arange(1, length + 1), count),
        label=ids.reshape(-1),
    )


def _masked_with(word_starts: np.ndarray, masking: Masking) -> np.ndarray:
    """Bool [N, S, S]: for each predicted token of each sentence, which tokens are masked."""
    length = word_starts.shape[1]
    own = np.broadcast_to(np.eye(length, dtype=bool), (len(word_starts), length, length))
    if masking == "token":
        return own
    word = word_starts.cumsum(axis=1)
    same_word = word[:, :, None] == word[:, None, :]
    return same_word if masking == "whole_word" else same_word & np.triu(np.ones((length, length), dtype=bool))


def _log_probabilities(model: ForPretraining | ForMaskedLM, copies: MaskedCopies, device: torch.device) -> Tensor:
    """Float32 [N]: log probability of the label of each copy."""
    input_ids = torch.from_numpy(copies.input_ids).to(device)
    rows = torch.arange(len(input_ids), device=device)
    positions = rows * input_ids.shape[1] + torch.from_numpy(copies.position).to(device)
    attention_mask, token_type_ids = torch.ones_like(input_ids, dtype=torch.bool), torch.zeros_like(input_ids)
    states = model.encoder.at_positions(input_ids, attention_mask, token_type_ids, positions)
    logits = model.mlm(states, model.encoder.embeddings.word.weight).float()
    labels = torch.from_numpy(copies.label).to(device)
    return logits[rows, labels] - logits.logsumexp(-1)
