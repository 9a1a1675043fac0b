"""Forward pass, losses, and the model's outputs for all windows of a question → scores of the spans of its context.

Spans are of characters, so that models with different tokenizers can be averaged.
Sources: `create_v1_model`, `accumulate_predictions_v1` and the same of v2 in squad_utils.py of google-research/albert.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from litebert.errors import ConfigError
from litebert.model.losses import answerability_losses, span_loss
from litebert.model.models import FORBIDDEN
from litebert.model.outputs import QuestionAnsweringWithNoAnswerOutput, SpanOutput
from litebert.tasks.encoded import Inputs, LabelledBatch
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.windows import QuestionOutputs, Window
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


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of a first and a last position in one window, and the score that the window has no answer."""

    first: np.ndarray
    """Int64 [N]."""
    last: np.ndarray
    """Int64 [N]."""
    scores: np.ndarray
    """Float64 [N, 2]: of the first position as start, of the last one as end; log-probabilities from a beam search."""
    null_score: float | None = None


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


def span_beams(model: nn.Module, inputs: Inputs) -> list[Candidates]:
    """The best spans of each window."""
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    # A wrapper for several processes forwards `forward` only; the wrapped model has `beams`.
    wrapped: Any = getattr(model, "module", model)
    beams = wrapped.beams(*ids, answer_mask(inputs), num_starts=BEAM_SIZE, num_ends=BEAM_SIZE)
    last = beams.end_positions  # B K K2
    first = beams.start_positions[..., None].expand_as(last)
    start_scores = beams.start_log_probs[..., None].expand_as(last)
    scores = torch.stack([start_scores.float(), beams.end_log_probs.float()], dim=-1).flatten(1, 2).double()
    columns = (first.flatten(1), last.flatten(1), scores)
    windows = zip(*(column.cpu().numpy() for column in columns), beams.impossible_logits.float().tolist(), strict=True)
    return [Candidates(*window) for window in windows]


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


@dataclass(frozen=True, slots=True)
class SpanScores:
    """What one model or an ensemble gives the possible answers to one question."""

    spans: np.ndarray
    """Int64 [N, 2]: different half-open spans of characters of the context."""
    scores: np.ndarray
    """Float64 [N, 2]: as start, as end."""
    null_score: float | None
    """Score of "no answer"; None from a model without."""


def scores_from_logits(question: QuestionOutputs, settings: QuestionSettings, dtype: type[np.floating]) -> SpanScores:
    """The scores that a model without "no answer" gives the spans of one question."""
    candidates = [best_pairs(output, n_best=settings.n_best) for output in question.outputs]
    return span_scores(question, candidates, null_score=None, settings=settings)


def scores_from_beams(question: QuestionOutputs, settings: QuestionSettings, dtype: type[np.floating]) -> SpanScores:
    """The scores that a model with "no answer" gives; the null score is the smallest of all windows."""
    null_score = min(each.null_score for each in question.outputs)
    return span_scores(question, question.outputs, null_score=null_score, settings=settings)


def best_pairs(window: SpanLogits, *, n_best: int) -> Candidates:
    """Every pair of the `n_best` starts and the `n_best` ends of a window."""
    starts = np.argsort(-window.starts, kind="stable")[:n_best]
    ends = np.argsort(-window.ends, kind="stable")[:n_best]
    first, last = np.repeat(starts, len(ends)), np.tile(ends, len(starts))
    scores = np.stack([window.starts[first], window.ends[last]], axis=1).astype(np.float64)
    return Candidates(first, last, scores)


def span_scores(
    question: QuestionOutputs, candidates: Sequence[Candidates], *, null_score: float | None, settings: QuestionSettings
) -> SpanScores:
    """The candidates of all windows of a question that can be answers, best first."""
    pairs = zip(question.windows, candidates, strict=True)
    possible = [_possible(*pair, settings.max_answer_length) for pair in pairs]
    tokens = np.concatenate([spans for spans, _ in possible])
    scores = np.concatenate([scores for _, scores in possible])
    spans = question.document.characters_of(tokens)
    order = np.argsort(-scores.sum(axis=1), kind="stable")
    _, first = np.unique(spans[order], axis=0, return_index=True)
    chosen = order[np.sort(first)]
    return SpanScores(spans[chosen], scores[chosen], null_score)


def _possible(window: Window, candidates: Candidates, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Half-open spans of the document's tokens, with their scores.

    An answer starts where its window has more context than any other, ends in the same window and has at most
    `longest` tokens.
    """
    first, stop = candidates.first - window.offset, candidates.last - window.offset + 1
    keep = (
        (window.plan.max_context[0] <= first)
        & (first < window.plan.max_context[1])
        & (stop <= window.plan.tokens[1])
        & (first < stop)
        & (stop - first <= longest)
    )
    return np.stack([first[keep], stop[keep]], axis=1), candidates.scores[keep]


def average_span_scores(members: Sequence[SpanScores]) -> SpanScores:
    """The mean over the members of an ensemble, for one question.

    "For SQuAD, we average the prediction scores for those spans that have multiple probabilities; we also average the
    scores of the unanswerable decision." Source: ALBERT, section 4.9, and `write_predictions_v2` in squad_utils.py: the
    mean of a span is over the models that proposed it.
    """
    null_scores = [member.null_score for member in members if member.null_score is not None]
    if null_scores and len(null_scores) < len(members):
        raise ConfigError('ensemble: some members can predict "no answer" and some cannot; use one task type')
    spans, index = np.unique(np.concatenate([member.spans for member in members]), axis=0, return_inverse=True)
    totals = np.zeros((len(spans), 2))
    np.add.at(totals, index.reshape(-1), np.concatenate([member.scores for member in members]))
    proposed = np.bincount(index.reshape(-1), minlength=len(spans))
    null_score = sum(null_scores) / len(null_scores) if null_scores else None
    return SpanScores(spans, totals / proposed[:, None], null_score)
