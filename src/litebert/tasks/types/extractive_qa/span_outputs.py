"""The forward pass and the losses of both question answering models.

Sources: `create_v1_model` and `create_v2_model` in squad_utils.py of google-research/albert.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from litebert.model.losses import answerability_losses, span_loss
from litebert.model.outputs import QuestionAnsweringWithNoAnswerOutput, SpanOutput
from litebert.model.question_answering import FORBIDDEN
from litebert.tasks.encoded import Inputs, LabelledBatch
from litebert.tasks.types.task_type import LossSums

BEAM_SIZE: Final = 5
"""Start positions, and end positions for each, in a beam search. Source: start_n_top and end_n_top."""
IMPOSSIBLE_WEIGHT: Final = 0.5
"""Weight of the no-answer loss relative to the span loss."""


class SpanLogits(NamedTuple):
    """Scores of every position of one window."""

    starts: np.ndarray
    """Float32 [S]."""
    ends: np.ndarray
    """Float32 [S]."""


class SpanBeams(NamedTuple):
    """The best spans of one window, and the score that it has no answer."""

    first: np.ndarray
    """Int64 [K]: first positions."""
    last: np.ndarray
    """Int64 [K]: last positions."""
    scores: np.ndarray
    """Float32 [K, 2]: log-probabilities of the start and of the end."""
    null_score: float


def answer_mask(inputs: Inputs) -> Tensor:
    """Bool [B, S]: where an answer may start or end: the context, and `[CLS]`, which means "no answer".

    Source: `p_mask` in squad_utils.py, which is 0 there.
    """
    length = inputs.attention_mask.sum(1, keepdim=True)
    positions = torch.arange(inputs.attention_mask.shape[1], device=length.device)
    is_context = (inputs.token_type_ids == 1) & (positions < length - 1)
    return is_context | (positions == 0)


def span_logits(model: nn.Module, inputs: Inputs) -> list[SpanLogits]:
    """The scores of each window, without padding."""
    output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    scores = torch.stack([output.start_logits, output.end_logits], dim=1).float().cpu().numpy()
    lengths = inputs.attention_mask.sum(1).tolist()
    return [SpanLogits(*window[:, :length]) for window, length in zip(scores, lengths, strict=True)]


def span_beams(model: nn.Module, inputs: Inputs) -> list[SpanBeams]:
    """The best spans of each window."""
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    # A wrapper for several processes forwards `forward` only; the wrapped model has `beams`.
    wrapped: Any = getattr(model, "module", model)
    beams = wrapped.beams(*ids, answer_mask(inputs), num_starts=BEAM_SIZE, num_ends=BEAM_SIZE)
    last = beams.end_positions  # B K K2
    first = beams.start_positions[..., None].expand_as(last)
    start_scores = beams.start_log_probs[..., None].expand_as(last)
    scores = torch.stack([start_scores.float(), beams.end_log_probs.float()], dim=-1).flatten(1, 2)
    columns = (first.flatten(1), last.flatten(1), scores)
    windows = zip(*(column.cpu().numpy() for column in columns), beams.impossible_logits.float().tolist(), strict=True)
    return [SpanBeams(*window) for window in windows]


def span_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed mean of the cross-entropies of start and end over the real tokens ("span").

    Those of google-research/albert also include the padding, whose amount depends on the batch here.
    """
    inputs, (starts, ends, _) = batch.inputs, batch.labels.unbind(1)
    output = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids)
    padding = ~inputs.attention_mask
    masked = SpanOutput(
        output.start_logits.masked_fill(padding, FORBIDDEN),
        output.end_logits.masked_fill(padding, FORBIDDEN),
        output.encoder,
    )
    correct = _num_correct(masked.start_logits, masked.end_logits, starts, ends)
    return LossSums({"span": span_loss(masked, starts, ends)}, {"span": correct})


def span_and_answerability_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed losses of the span, its end scored given the true start, and of "no answer" ("impossible")."""
    inputs, (starts, ends, impossible) = batch.inputs, batch.labels.unbind(1)
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    output: QuestionAnsweringWithNoAnswerOutput = model(*ids, answer_mask(inputs), starts)
    losses = answerability_losses(output, starts, ends, impossible.float())
    losses["impossible"] = IMPOSSIBLE_WEIGHT * losses["impossible"]
    correct_spans = _num_correct(output.start_log_probs, output.end_log_probs, starts, ends)
    correct_decisions = ((output.impossible_logits > 0) == (impossible > 0)).sum()
    return LossSums(losses, {"span": correct_spans, "impossible": correct_decisions})


def _num_correct(start_scores: Tensor, end_scores: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    return ((start_scores.argmax(-1) == starts) & (end_scores.argmax(-1) == ends)).sum()
