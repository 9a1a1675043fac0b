"""What the models return. Before: `encoder.py` and `heads.py`. After: losses, metrics, analysis.

Named tuples, so that `torch.export` and data-parallel wrappers see the tensors inside.
"""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class EncoderOutput(NamedTuple):
    """Vectors of a batch of sequences. Values at padded positions mean nothing."""

    last_hidden_state: Float[Tensor, "B S H"]
    pooled: Float[Tensor, "X H"]
    """One vector an example: its first position through the pooler, or bare where the model has no pooler."""
    hidden_states: tuple[Float[Tensor, "B S H"], ...] = ()
    """If asked for: what the first block reads, then what each block gives; one more than blocks run."""
    embedding_output: Float[Tensor, "B S E"] | None = None
    """If asked for: the embeddings before their projection to H."""


class PretrainingOutput(NamedTuple):
    """Predictions of the two pretraining heads."""

    mlm_logits: Float[Tensor, "P V"]
    sentence_pair_logits: Float[Tensor, "X 2"]
    """Column 0: in order (SOP) or from the same document (NSP); column 1: swapped or from another."""


class MaskedLMOutput(NamedTuple):
    """Scores of every token of the vocabulary at the predicted positions."""

    mlm_logits: Float[Tensor, "P V"]
    encoder: EncoderOutput


class ClassifierOutput(NamedTuple):
    """Scores of classes, of choices, or of classes per token; one column without softmax is a regression.

    No vectors of the encoder: most are never computed, `model.encoder(…)` gives them all.
    """

    logits: Float[Tensor, "B C"] | Float[Tensor, "B S C"]


class SpanOutput(NamedTuple):
    """Scores of each position as start and as end (inclusive) of the answer."""

    start_logits: Float[Tensor, "B S"]
    end_logits: Float[Tensor, "B S"]
    encoder: EncoderOutput


class QuestionAnsweringWithNoAnswerOutput(NamedTuple):
    """Training: log-probabilities of start, of end given the true start, and the score that there is no answer."""

    start_log_probs: Float[Tensor, "B S"]
    end_log_probs: Float[Tensor, "B S"]
    impossible_logits: Float[Tensor, " B"]
    encoder: EncoderOutput


class AnswerBeams(NamedTuple):
    """Inference: the best starts, the best ends of each, and the score that there is no answer."""

    start_log_probs: Float[Tensor, "B K"]
    start_positions: Int[Tensor, "B K"]
    end_log_probs: Float[Tensor, "B K K2"]
    end_positions: Int[Tensor, "B K K2"]
    """Row k holds the ends that go with start k."""
    impossible_logits: Float[Tensor, " B"]
    encoder: EncoderOutput
