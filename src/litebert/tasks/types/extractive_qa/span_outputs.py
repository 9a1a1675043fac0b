"""The forward pass and the losses of both question answering models.

Sources: `create_v1_model` and `create_v2_model` in squad_utils.py of google-research/albert.
"""

from typing import Final, cast

import torch
from torch import Tensor, nn

from litebert.loss_sums import LossSums
from litebert.model.losses import answerability_losses, span_loss
from litebert.model.model_inputs import ModelInputs
from litebert.model.models import FORBIDDEN, ForQuestionAnsweringWithNoAnswer
from litebert.model.outputs import QuestionAnsweringWithNoAnswerOutput, SpanOutput
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.types.extractive_qa.span_scores import (
    BEAM_SIZE,
    Candidates,
    SpanLogits,
    beams_by_window,
    logits_by_window,
)

IMPOSSIBLE_WEIGHT: Final = 0.5
"""Weight of the no-answer loss relative to the span loss."""


def answer_mask(inputs: ModelInputs) -> Tensor:
    """Bool [B, S]: where an answer may start or end: the context, and `[CLS]`, which means "no answer".

    Source: `p_mask` in squad_utils.py, which is 0 there.
    """
    length = inputs.attention_mask.sum(1, keepdim=True)
    positions = torch.arange(inputs.attention_mask.shape[1], device=length.device)
    is_context = (inputs.token_type_ids == 1) & (positions < length - 1)
    return is_context | (positions == 0)


def span_logits(model: nn.Module, inputs: ModelInputs) -> list[SpanLogits]:
    """The scores of each window, without padding."""
    output = model(*inputs)
    starts, ends = (logits.float().cpu().numpy() for logits in (output.start_logits, output.end_logits))
    return logits_by_window(starts, ends, inputs.attention_mask.sum(1).tolist())


def span_beams(model: nn.Module, inputs: ModelInputs) -> list[Candidates]:
    """The best spans of each window."""
    beams = cast(ForQuestionAnsweringWithNoAnswer, model).beams(
        *inputs, answer_mask(inputs), num_starts=BEAM_SIZE, num_ends=BEAM_SIZE
    )
    beams = beams._replace(impossible_logits=beams.impossible_logits.float())
    return beams_by_window(*(each.cpu().numpy() for each in beams[:5]))


def span_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Summed mean of the cross-entropies of start and end over the real tokens ("span").

    Those of google-research/albert also include the padding, whose amount depends on the batch here.
    """
    inputs, (starts, ends, _) = batch.inputs, batch.labels.unbind(1)
    output = model(*inputs)
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
    output: QuestionAnsweringWithNoAnswerOutput = model(*inputs, answer_mask(inputs), starts)
    losses = answerability_losses(output, starts, ends, impossible.float())
    losses["impossible"] = IMPOSSIBLE_WEIGHT * losses["impossible"]
    correct_spans = _num_correct(output.start_log_probs, output.end_log_probs, starts, ends)
    correct_decisions = ((output.impossible_logits > 0) == (impossible > 0)).sum()
    return LossSums(losses, {"span": correct_spans, "impossible": correct_decisions})


def _num_correct(start_scores: Tensor, end_scores: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    return ((start_scores.argmax(-1) == starts) & (end_scores.argmax(-1) == ends)).sum()
