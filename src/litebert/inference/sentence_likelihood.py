"""Log-likelihood of sentences under a language model, by one of two ways of predicting their tokens.

With a masking each token is predicted from a copy of its sentence in which it is masked; the score of a sentence is the
sum of the log probabilities of its tokens, its pseudo-log-likelihood. Source: Salazar et al. 2020, "Masked Language
Model Scoring"; the two corrections for words of several tokens are those of Kauf and Ivanova 2023, "A Better Way to Do
Masked Language Model Scoring". Without a masking each token is predicted from those before it, so that one forward pass
scores a sentence; this needs a model that was trained with a share of causal steps.

A temperature below 1 sharpens the distributions before the sum, as in the evaluation of GPT-BERT (Charpentier and
Samuel 2024) and of BabyLM, which search for the best one.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from litebert.errors import ConfigError, DataError
from litebert.inference.inference_model import inference_model
from litebert.inference.word_masking import Masking
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import InferencePrecision
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

TOKENS_PER_BATCH = {"cpu": 4096, "gpu": 16_384}
"""On a CPU few enough for the memory of a batch to be used again; a sentence with more tokens in its masked copies is a
batch by itself."""
SECONDS_PER_LINE = 10.0
"""Between two log lines of the progress."""


def validate_causal_steps(model: Path, record: Mapping[str, Any] | None) -> None:
    """Raise ConfigError if a model cannot predict next tokens, because it was trained on masked tokens only.

    `record`: that of its pretraining (`pretraining_record`); a warning is logged for a model without one.
    """
    if record is None:
        logger.warning(
            "%s: has no record of its pretraining; if it was trained on masked tokens only, its scores of next tokens "
            "mean nothing",
            model,
        )
    elif not record["sampling"].get("causal_fraction"):
        raise ConfigError(
            f"scoring: {model} was pretrained without causal steps, so it cannot predict next tokens; score by "
            "pseudo_log_likelihood, or pretrain with sampling.causal_fraction"
        )


class SentenceLengthError(DataError):
    """A sentence without tokens or with too many; `index` is its position, from 0."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(f"sentence {index + 1}: {problem}")
        self.index, self.problem = index, problem


def log_likelihoods(
    model: ForPretraining | ForMaskedLM,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    *,
    masking: Masking | None,
    temperature: float = 1.0,
    precision: InferencePrecision = "fp32",
) -> np.ndarray:
    """Float64 [N]: the score of each sentence, natural logarithm; higher is more likely.

    `masking` None: the log probability of the sentence and of its end, each token predicted from those before it.
    `temperature` divides the logits and is positive. Sentences of equal tokens have exactly the same score. Raises
    SentenceLengthError for a sentence without tokens or with more than the model has positions.
    """
    device = next(model.parameters()).device
    sequences, of_sentence = _distinct_sequences(tokenizer, sentences, longest=model.config.max_position_embeddings)
    scores = np.zeros(len(sequences))
    with inference_model(model, precision) as running:
        batches = _batches(
            sequences,
            copies=masking is not None,
            tokens_per_batch=TOKENS_PER_BATCH["cpu" if device.type == "cpu" else "gpu"],
        )
        for indices, ids in _logged(batches, len(sequences)):
            if masking is None:
                rows = torch.from_numpy(_with_ends(ids, tokenizer)).to(device)
                found = _causal_log_probabilities(cast(Any, running), rows, temperature)
            else:
                sentences_of_copies, copies, predicted = _masked_copies(ids, tokenizer, masking)
                copy, place = predicted.nonzero()
                indices, labels = indices[sentences_of_copies[copy]], ids[sentences_of_copies[copy], place]
                copies = torch.from_numpy(_with_ends(copies, tokenizer)).to(device)
                positions = torch.from_numpy(copy * copies.shape[1] + 1 + place).to(device)
                labels = torch.from_numpy(labels).to(device)
                found = _masked_log_probabilities(cast(Any, running), copies, positions, labels, temperature)
            np.add.at(scores, indices, found.double().cpu().numpy())
    return scores[of_sentence]


def _distinct_sequences(
    tokenizer: Tokenizer, sentences: Sequence[str], *, longest: int
) -> tuple[list[tuple[int, ...]], list[int]]:
    """The token sequences of the sentences, each once, and for each sentence the index of its own.

    Equal sequences in two batches would have slightly different scores, because the rounding of a matrix product
    depends on its size; then they would not tie. Raises SentenceLengthError for a sentence without tokens or with too
    many.
    """
    indices: dict[tuple[int, ...], int] = {}
    of_sentence = []
    for index, ids in enumerate(tokenizer.encode_batch(list(sentences))):
        if not ids or len(ids) + 2 > longest:
            problem = f"{len(ids)} tokens; the model reads 1 to {longest - 2}; change or remove the sentence"
            raise SentenceLengthError(index, problem)
        of_sentence.append(indices.setdefault(tuple(ids), len(indices)))
    return list(indices), of_sentence


def _batches(
    sequences: Sequence[tuple[int, ...]], *, copies: bool, tokens_per_batch: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices [N] and tokens [N, S] of sequences of one length, so that nothing is padded.

    With `copies` each becomes up to S rows.
    """
    by_length: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for index, ids in enumerate(sequences):
        by_length.setdefault(len(ids), []).append((index, ids))
    for length, group in by_length.items():
        size = max(1, tokens_per_batch // ((length if copies else 1) * (length + 2)))
        for start in range(0, len(group), size):
            indices, rows = zip(*group[start : start + size], strict=True)
            yield np.array(indices), np.array(rows)


def _logged(
    batches: Iterator[tuple[np.ndarray, np.ndarray]], sequences: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The batches, with a log line every ten seconds."""
    scored, last = 0, time.monotonic()
    for indices, ids in batches:
        yield indices, ids
        scored += len(indices)
        if time.monotonic() - last >= SECONDS_PER_LINE:
            logger.info("%s of %s sentences scored", f"{scored:,}", f"{sequences:,}")
            last = time.monotonic()


def _with_ends(ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray:
    """Int64 [N, S + 2]: `[CLS] tokens [SEP]` of each row."""
    ends = np.ones((len(ids), 1), dtype=np.int64)
    return np.hstack([ends * tokenizer.cls_id, ids, ends * tokenizer.sep_id])


def _masked_copies(
    ids: np.ndarray, tokenizer: Tokenizer, masking: Masking
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Copies of sentences [N, S]: the sentence of each [C], its tokens [C, S] and which of them it predicts [C, S].

    A copy predicts one token, or with `whole_word` those of one word, which it masks together.
    """
    masked, predicted = _masks(tokenizer.word_starts[ids].cumsum(axis=1), masking)
    used = np.any(predicted, axis=-1)
    sentences, _ = np.nonzero(used)
    return sentences, np.where(masked[used], tokenizer.mask_id, ids[sentences]), predicted[used]


def _masks(words: np.ndarray, masking: Masking) -> tuple[np.ndarray, np.ndarray]:
    """Bool [N, copies, S] twice: what each copy masks and what it predicts; `words` [N, S] numbers the words."""
    length = words.shape[1]
    one_token = np.broadcast_to(np.eye(length, dtype=bool), (len(words), length, length))
    if masking == "token":
        return one_token, one_token
    if masking == "whole_word":
        one_word = words[:, None] == np.arange(words.max() + 1)[:, None]
        return one_word, one_word
    own_word = words[:, :, None] == words[:, None]
    return own_word & np.triu(np.ones((length, length), dtype=bool)), one_token


def _masked_log_probabilities(
    model: ForPretraining | ForMaskedLM,
    copies: Int[Tensor, "C S_2"],
    positions: Int[Tensor, " P"],
    labels: Int[Tensor, " P"],
    temperature: float,
) -> Float[Tensor, " P"]:
    """The log probability of each label at its flat position."""
    mask, token_types = torch.ones_like(copies, dtype=torch.bool), torch.zeros_like(copies)
    states = model.encoder.at_positions(copies, mask, token_types, positions)
    return model.mlm.log_probabilities(states, _vocabulary(model), labels, temperature=temperature)


def _causal_log_probabilities(
    model: ForPretraining | ForMaskedLM, input_ids: Int[Tensor, "B S"], temperature: float
) -> Float[Tensor, " B"]:
    """Sum of the log probabilities of all tokens but the first."""
    mask, token_types = torch.ones_like(input_ids, dtype=torch.bool), torch.zeros_like(input_ids)
    states = model.encoder(input_ids, mask, token_types, causal=True).last_hidden_state[:, :-1].flatten(0, 1)
    labels = input_ids[:, 1:].flatten()
    found = model.mlm.log_probabilities(states, _vocabulary(model), labels, temperature=temperature)
    return found.view(len(input_ids), -1).sum(1)


def _vocabulary(model: ForPretraining | ForMaskedLM) -> Float[Tensor, "V E"]:
    return model.encoder.embeddings.word.weight
