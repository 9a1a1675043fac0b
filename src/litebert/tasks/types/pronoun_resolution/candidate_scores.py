"""Candidates in the place of a pronoun: their encoding, their scores by a masked language model, and the margin loss.

Source: the WSC task of fairseq (`wsc_criterion.py`, examples/roberta/wsc), after Kocijan et al. (2019).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from litebert.loss_sums import LossSums
from litebert.model.losses import NO_LABEL
from litebert.tasks.encoded import Encoded, Feature, LabelledBatch, NoTokensError, pad
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.masked_text import without_added_space
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample, Span
from litebert.tokenization.tokenizer import Tokenizer

MARGIN_WEIGHT: Final = 5.0
"""α of the margin loss. Source: `--wsc-margin-alpha` in the README of fairseq's examples/roberta/wsc."""
MARGIN: Final = 0.4
"""β of the margin loss. Source: `--wsc-margin-beta`."""


class CandidateInputs(NamedTuple):
    """Sequences with a masked candidate, R of them for B examples; the first of an example has its own candidate."""

    input_ids: Tensor
    """Int64 [R, S]."""
    attention_mask: Tensor
    """Bool [R, S], True on real tokens."""
    token_type_ids: Tensor
    """Int64 [R, S]."""
    piece_ids: Tensor
    """Int64 [R, S]: the masked piece, -100 elsewhere."""
    example_index: Tensor
    """Int64 [R]: the example of each sequence."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return type(self)(*(tensor.to(device, non_blocking=True) for tensor in self))


@dataclass(frozen=True)
class EncodedCandidates(Encoded):
    """One sequence for each candidate of an example, as one feature; its candidate is not masked yet."""

    spans: Sequence[tuple[Span, ...]]
    """Tokens of the candidates of each example."""
    mask_id: int

    @cached_property
    def lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest sequence, times the number of sequences."""
        return self.example_lengths * np.array([len(each) for each in self.features], dtype=np.int64)

    @property
    def example_lengths(self) -> np.ndarray:
        """Int64 [N]: tokens of the longest sequence."""
        return self.sequence_lengths

    def inputs(self, indices: np.ndarray) -> Any:
        """The sequences of the examples at `indices`, one after the other, with masked candidates."""
        arrays = pad(list(chain.from_iterable(self.features[index] for index in indices)), pad_id=self.pad_id)
        pieces = np.full_like(arrays.input_ids, NO_LABEL)
        for row, (start, end) in enumerate(chain.from_iterable(self.spans[index] for index in indices)):
            pieces[row, start:end] = arrays.input_ids[row, start:end]
            arrays.input_ids[row, start:end] = self.mask_id
        counts = [len(self.features[index]) for index in indices]
        return CandidateInputs(
            *arrays.to_tensors(),
            torch.from_numpy(pieces),
            torch.arange(len(counts)).repeat_interleave(Tensor(counts).long()),
        )


def encode_candidates(
    examples: Sequence[PronounExample], tokenizer: Tokenizer, settings: InputSettings
) -> EncodedCandidates:
    """`[CLS] text [SEP]` for the candidate of each example and for each other one, in the place of the pronoun.

    A text that is too long keeps the tokens around the pronoun. Raises NoTokensError for a candidate without a token.
    """
    features, spans = [], []
    for index, each in enumerate(examples):
        start, end = each.pronoun
        before, after = tokenizer.encode_batch([each.text[:start].rstrip(), each.text[end:]])
        after = without_added_space(each.text[end:], after, tokenizer)
        candidate, *others = tokenizer.encode_batch([each.candidate, *each.others])
        if not candidate:
            raise NoTokensError(index, each.candidate)
        phrases = [candidate, *(ids for ids in others if ids)]
        pairs = [_sequence(before, ids, after, tokenizer, settings.max_length) for ids in phrases]
        features.append(tuple(feature for feature, _ in pairs))
        spans.append(tuple(span for _, span in pairs))
    targets = [each.target for each in examples]
    return EncodedCandidates(features, targets, tokenizer.pad_id, spans, tokenizer.mask_id)


def validate_candidates(examples: Sequence[PronounExample], tokenizer: Tokenizer) -> None:
    """Raise NoTokensError for a candidate without a token."""
    for index, ids in enumerate(tokenizer.encode_batch([each.candidate for each in examples])):
        if not ids:
            raise NoTokensError(index, examples[index].candidate)


def _sequence(
    before: Sequence[int], phrase: Sequence[int], after: Sequence[int], tokenizer: Tokenizer, max_length: int
) -> tuple[Feature, Span]:
    """The sequence and the span of the phrase in it."""
    is_truncated = len(before) + len(phrase) + len(after) + 2 > max_length
    phrase = phrase[: max_length - 2]
    budget = max_length - 2 - len(phrase)
    num_after = min(len(after), max(budget // 2, budget - len(before)))
    kept = before[len(before) - min(len(before), budget - num_after) :]
    ids = [tokenizer.cls_id, *kept, *phrase, *after[:num_after], tokenizer.sep_id]
    first = 1 + len(kept)
    feature = Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8), is_truncated=is_truncated)
    return feature, (first, first + len(phrase))


def candidate_scores(model: nn.Module, inputs: CandidateInputs) -> Tensor:
    """Float32 [R]: the mean log-probability of the pieces of each candidate, all of them masked."""
    positions = (inputs.piece_ids != NO_LABEL).flatten().nonzero()[:, 0]
    logits = model(inputs.input_ids, inputs.attention_mask, inputs.token_type_ids, positions).mlm_logits
    pieces = inputs.piece_ids.flatten()[positions]
    log_probs = logits.float().log_softmax(-1).gather(1, pieces[:, None])[:, 0]
    rows = positions // inputs.input_ids.shape[1]
    sums = log_probs.new_zeros(len(inputs.input_ids)).index_add(0, rows, log_probs)
    return sums / rows.bincount(minlength=len(sums))


def scores_by_example(model: nn.Module, inputs: CandidateInputs) -> list[np.ndarray]:
    """Float32 [1 + others] for each example: the scores of its candidate and of the others."""
    counts = inputs.example_index.bincount().tolist()
    return [each.numpy() for each in candidate_scores(model, inputs).cpu().split(counts)]


def margin_losses(model: nn.Module, batch: LabelledBatch, weights: Tensor | None) -> LossSums:
    """Σ over others of α · max(0, log p(other) - log p(candidate) + β) - log p(candidate), of positive examples.

    A negative example does not say which phrase the pronoun refers to, so it has no loss.
    """
    inputs: Any = batch.inputs
    scores, example = candidate_scores(model, inputs), inputs.example_index
    is_own = torch.diff(example, prepend=example.new_full((1,), -1)) > 0
    own = scores[is_own][example]
    margins = (scores - own + MARGIN).clamp(min=0)
    is_alone = (example.bincount() == 1)[example]
    losses = torch.where(is_own, -own * is_alone, MARGIN_WEIGHT * margins - own)
    is_beaten = (scores > own).float().new_zeros(len(batch.labels)).index_add(0, example, (scores > own).float()) > 0
    is_positive = batch.labels == 1
    return LossSums({"label": (losses * is_positive[example]).sum()}, {"label": (is_positive & ~is_beaten).sum()})


def probabilities_of_scores(scores: np.ndarray, settings: Any, dtype: type[np.floating]) -> np.ndarray:
    """[2]: the probability that the candidate is not the best one, and that it is.

    It is that of the candidate against the best of the others; without others it is 1, as in fairseq. A candidate that
    is as good as the best one is one of the best.
    """
    margin = np.float64(scores[0]) - np.float64(scores[1:].max(initial=-np.inf))
    positive = 1 / (1 + np.exp(-margin))
    if margin >= 0:
        positive = max(positive, np.nextafter(dtype(0.5), dtype(1)))
    return np.array([1 - positive, positive], dtype)
