"""Outputs of the models: named tuples, so that `torch.export` and data-parallel wrappers find the tensors inside."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class EncoderOutput(NamedTuple):
    """Outputs of the encoder. Values at padded positions are meaningless."""

    last_hidden_state: Float[Tensor, "B S H"]
    pooled: Float[Tensor, "X H"]
    """One vector per example: the pooler of its first position, or that hidden state itself without a pooler."""
    hidden_states: tuple[Float[Tensor, "B S H"], ...] = ()
    """With `output_hidden_states`: the input of the first block, then the output of each block."""
    embedding_output: Float[Tensor, "B S E"] | None = None
    """With `output_hidden_states`: the embeddings before their projection to H."""


class PretrainingOutput(NamedTuple):
    """Logits of the two pretraining heads."""

    mlm_logits: Float[Tensor, "P V"]
    sentence_pair_logits: Float[Tensor, "X 2"]
    """Column 0: in order (SOP) or consecutive (NSP); column 1: swapped (SOP) or from another document (NSP)."""


class MaskedLMOutput(NamedTuple):
    """Logits of the vocabulary at the masked positions."""

    mlm_logits: Float[Tensor, "P V"]
    encoder: EncoderOutput


class ClassifierOutput(NamedTuple):
    """Logits of classes, of choices, or of classes per token; for regression one column, the prediction.

    Hidden states are left out, because most are never computed; `model.encoder(…)` returns them.
    """

    logits: Float[Tensor, "B C"] | Float[Tensor, "B S C"]


class SpanOutput(NamedTuple):
    """Logits of each position as start and as end (inclusive) of the answer."""

    start_logits: Float[Tensor, "B S"]
    end_logits: Float[Tensor, "B S"]
    encoder: EncoderOutput


class QuestionAnsweringWithNoAnswerOutput(NamedTuple):
    """Training: log-probabilities of the start, of the end given the true start, and the no-answer logit."""

    start_log_probs: Float[Tensor, "B S"]
    end_log_probs: Float[Tensor, "B S"]
    impossible_logits: Float[Tensor, " B"]
    encoder: EncoderOutput


class AnswerBeams(NamedTuple):
    """Inference: beam search over starts and ends, K starts and K2 ends of each, and the no-answer logit."""

    start_log_probs: Float[Tensor, "B K"]
    start_positions: Int[Tensor, "B K"]
    end_log_probs: Float[Tensor, "B K K2"]
    end_positions: Int[Tensor, "B K K2"]
    """Row k holds the ends of start k."""
    impossible_logits: Float[Tensor, " B"]
    encoder: EncoderOutput
