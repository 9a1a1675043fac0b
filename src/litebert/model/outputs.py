"""Outputs of the models: named tuples, so that `torch.export` and data-parallel wrappers find the tensors inside."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

from litebert.model.kernels.cross_entropy import VocabularyLoss


class EncoderOutput(NamedTuple):
    """Outputs of the encoder. Values at padded positions are meaningless."""

    last_hidden_state: Float[Tensor, "B S H"]
    pooled: Float[Tensor, "X H"]
    """One vector per example: the pooler of its first position, or that hidden state itself without a pooler."""
    hidden_states: tuple[Float[Tensor, "B S H"], ...] = ()
    """With `output_hidden_states`: the input of the first block, then the output of each block; in a pre-norm model the
    last of them after the final norm, as in the pre-norm models of transformers."""
    embedding_output: Float[Tensor, "B S E"] | None = None
    """With `output_hidden_states`: the embeddings before their projection to H."""


class PretrainingOutput(NamedTuple):
    """Logits of the two pretraining heads."""

    mlm_logits: Float[Tensor, "P V"]
    sentence_pair_logits: Float[Tensor, "X 2"]
    """Column 0: in order (SOP) or consecutive (NSP); column 1: swapped (SOP) or from another document (NSP)."""
    loss: Float[Tensor, ""] | None = None
    """With labels: the sum of the mean cross-entropies of both heads."""


class PretrainingLosses(NamedTuple):
    """What pretraining needs of the two heads; the logits of the vocabulary are not stored."""

    mlm: VocabularyLoss
    sentence_pair_logits: Float[Tensor, "X 2"]
    """As in `PretrainingOutput`."""


class MaskedLMOutput(NamedTuple):
    """Logits of the vocabulary at the masked positions, or at all."""

    mlm_logits: Float[Tensor, "P V"] | Float[Tensor, "B S V"]
    encoder: EncoderOutput
    loss: Float[Tensor, ""] | None = None
    """With `labels`: the mean cross-entropy."""
    attentions: tuple[Float[Tensor, "B A S S"], ...] = ()
    """With `output_attentions`: the attention probabilities of each block."""

    @property
    def logits(self) -> Tensor:
        """`mlm_logits`, by the name that transformers uses."""
        return self.mlm_logits

    @property
    def hidden_states(self) -> tuple[Tensor, ...]:
        """Those of the encoder."""
        return self.encoder.hidden_states


class ClassifierOutput(NamedTuple):
    """Logits of classes, of choices, or of classes per token; for regression one column, the prediction."""

    logits: Float[Tensor, "B C"] | Float[Tensor, "B S C"]
    loss: Float[Tensor, ""] | None = None
    """With `labels`: their mean loss."""
    hidden_states: tuple[Float[Tensor, "B S H"], ...] = ()
    """With `output_hidden_states`: as in `EncoderOutput`. By default most are never computed."""
    attentions: tuple[Float[Tensor, "B A S S"], ...] = ()
    """With `output_attentions`: the attention probabilities of each block."""


class SpanOutput(NamedTuple):
    """Logits of each position as start and as end (inclusive) of the answer."""

    start_logits: Float[Tensor, "B S"]
    end_logits: Float[Tensor, "B S"]
    encoder: EncoderOutput
    loss: Float[Tensor, ""] | None = None
    """With positions: the mean of the cross-entropies of start and end."""
    attentions: tuple[Float[Tensor, "B A S S"], ...] = ()
    """With `output_attentions`: the attention probabilities of each block."""

    @property
    def hidden_states(self) -> tuple[Tensor, ...]:
        """Those of the encoder."""
        return self.encoder.hidden_states


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
