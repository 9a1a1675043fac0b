"""Losses, summed over labels. The training objective divides each sum by its count over the whole step.

A mean per microbatch would give another gradient wherever counts differ. Label -100 is ignored.
"""

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from litebert.model.kernels.cross_entropy import NO_LABEL, at_least_32_bits
from litebert.model.outputs import QuestionAnsweringWithNoAnswerOutput, SpanOutput


def is_correct(logits: Float[Tensor, "N C"], labels: Int[Tensor, " N"]) -> Bool[Tensor, " N"]:
    """Whether the largest logit of each row is that of its label; False without a label (no index is NO_LABEL)."""
    return logits.detach().argmax(-1) == labels


def classification_loss(logits: Float[Tensor, "N C"], labels: Int[Tensor, " N"]) -> Float[Tensor, ""]:
    """Summed cross-entropy of few classes: of sequences or (flattened) of tokens, choices, positions, sentence order.

    Tokens of a vocabulary: `vocabulary_loss`.
    """
    return F.cross_entropy(at_least_32_bits(logits), labels, ignore_index=NO_LABEL, reduction="sum")


def regression_loss(predictions: Float[Tensor, " N"], targets: Float[Tensor, " N"]) -> Float[Tensor, ""]:
    """Summed squared error. Source: the STS-B branch of run_classifier.py."""
    return (predictions - targets).square().sum()


def span_loss(output: SpanOutput, starts: Int[Tensor, " B"], ends: Int[Tensor, " B"]) -> Float[Tensor, ""]:
    """Sum over questions of the mean of start and end cross-entropy. Source: `create_v1_model`, squad_utils.py."""
    return (classification_loss(output.start_logits, starts) + classification_loss(output.end_logits, ends)) / 2


def answerability_losses(
    output: QuestionAnsweringWithNoAnswerOutput,
    starts: Int[Tensor, " B"],
    ends: Int[Tensor, " B"],
    impossible: Float[Tensor, " B"],
) -> dict[str, Float[Tensor, ""]]:
    """Summed losses `span` and `impossible`; google-research/albert adds them with weights 1 and 0.5.

    Source: `create_v2_model` in squad_utils.py.
    """
    start = F.nll_loss(output.start_log_probs, starts, ignore_index=NO_LABEL, reduction="sum")
    end = F.nll_loss(output.end_log_probs, ends, ignore_index=NO_LABEL, reduction="sum")
    logits = output.impossible_logits.to(impossible.dtype)
    none = F.binary_cross_entropy_with_logits(logits, impossible, reduction="sum")
    return {"span": (start + end) / 2, "impossible": none}
