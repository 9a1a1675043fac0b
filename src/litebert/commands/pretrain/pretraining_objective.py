"""The pretraining loss: masked language modelling and sentence-pair classification, as the trainer's `Objective`.

For validation text it adds breakdowns: MLM accuracy by masked span length and by example length, and the accuracy of
the majority-token baseline, which predicts the most frequent token of the training text everywhere.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.loss_sums import LossSums
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import rounded_up
from litebert.model.losses import NO_LABEL, classification_loss, is_correct
from litebert.model.model_stats import flops_per_token
from litebert.model.outputs import PretrainingLosses

MAJORITY_TOKEN = "majority_token"
SPAN_LENGTHS = {"mlm_span_1": (1, 1), "mlm_span_2": (2, 2), "mlm_span_3": (3, 3), "mlm_span_4_or_more": (4, 2**31)}
"""Metric name → smallest and largest length of the masked span, in words; adjacent n-grams form one span."""
EXAMPLE_LENGTHS = {
    **{
        f"mlm_length_{shortest}_to_{longest}": (shortest, longest)
        for shortest, longest in ((1, 32), (33, 64), (65, 128), (129, 256), (257, 512))
    },
    "mlm_length_513_or_more": (513, 2**31),
}
"""Metric name → smallest and largest length of the example, in tokens."""


class PretrainingObjective:
    """Masked language modelling ("mlm") plus the sentence-pair objective ("sop" or "nsp"), weighted equally.

    With pairing "none" there is no pair loss and no pair metric. A causal batch has the loss of its next tokens alone
    ("clm"). Sources: ALBERT section 3.1, GPT-BERT (arXiv 2410.24159).
    """

    def __init__(self, pairing: Pairing = "sop") -> None:
        self._pair_name = None if pairing == "none" else pairing

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Number of labels of each loss."""
        if batch.causal:
            return {"clm": _num_labels(batch.labels)}
        counts = {"mlm": _num_labels(batch.labels)}
        return counts | ({self._pair_name: _num_labels(batch.sentence_pair_labels)} if self._pair_name else {})

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> LossSums:
        """Summed cross-entropies and numbers of correct predictions of one microbatch."""
        if model.training:
            batch = with_rounded_labels(batch)
        return self.sums(pretraining_losses(model, batch), batch)

    def sums(self, output: PretrainingLosses, batch: PretrainBatch) -> LossSums:
        """As `__call__`, for an output already computed."""
        name = "clm" if batch.causal else "mlm"
        token_loss = output.mlm.loss
        correct = {name: output.mlm.correct.sum()}
        pair_logits, pair_labels = output.sentence_pair_logits, batch.sentence_pair_labels
        pair_loss = classification_loss(pair_logits, pair_labels)
        if self._pair_name is None or batch.causal:
            # No pair has a label, so this adds 0; it gives the head a zero gradient on every rank instead of none.
            return LossSums({name: token_loss + pair_loss}, correct)
        return LossSums(
            {name: token_loss, self._pair_name: pair_loss},
            correct | {self._pair_name: is_correct(pair_logits, pair_labels).sum()},
        )


def pretraining_losses(model: nn.Module, batch: PretrainBatch) -> PretrainingLosses:
    """The outputs of both heads for a batch."""
    inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.masked_positions, batch.sequence_starts
    return model(*inputs, masked_labels=batch.labels, causal=batch.causal)


def with_rounded_labels(batch: PretrainBatch) -> PretrainBatch:
    """On a CPU, the batch with a few positions without a label more: see `rounded_up`.

    Without them nearly every batch has another number of predicted tokens, and the products of the head are most of
    those that oneDNN compiles and keeps: its cache of 1,024 overflows, and memory is fragmented between its entries.
    """
    positions, labels = batch.masked_positions, batch.labels
    more = rounded_up(len(labels)) - len(labels)
    if not (more and labels.is_cpu):
        return batch
    return replace(batch, masked_positions=F.pad(positions, (0, more)), labels=F.pad(labels, (0, more), value=NO_LABEL))


def _num_labels(labels: Tensor) -> int:
    return int((labels != NO_LABEL).sum())


def training_flops(config: ModelConfig, batch: PretrainBatch) -> int:
    """FLOPs of forward and backward; attention is counted by the length of each example, padding not at all."""
    lengths, counts = sequence_lengths(batch).unique(return_counts=True)
    predicted = len(batch.labels) / batch.num_tokens
    return sum(
        count * length * flops_per_token(config, length=length, predicted=predicted).training
        for length, count in zip(lengths.tolist(), counts.tolist(), strict=True)
    )


def sequence_lengths(batch: PretrainBatch) -> Tensor:
    """Int64 [X]: tokens of each example, in packed rows and in rows of one example."""
    if batch.sequence_starts is None:
        return batch.attention_mask.sum(1)
    tokens_up_to = batch.attention_mask.flatten().cumsum(0)
    first = tokens_up_to[batch.sequence_starts] - 1
    return torch.diff(first, append=tokens_up_to[-1:])


class ValidationObjective:
    """PretrainingObjective with the breakdown of its MLM accuracy."""

    def __init__(self, pairing: Pairing, *, word_starts: Tensor, most_frequent: int) -> None:
        """`word_starts`: Bool [V], whether a token begins a word; `most_frequent`: the majority token's id."""
        self._objective = PretrainingObjective(pairing)
        self._word_starts = word_starts
        self._most_frequent = most_frequent

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Number of labels of each loss, and of masked tokens in each group."""
        counts = self._objective.counts(batch)
        groups = {name: int(group.sum()) for name, group in self._groups(batch).items()}
        return counts | groups | {MAJORITY_TOKEN: counts["mlm"]}

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> LossSums:
        """Summed losses, and numbers of correct predictions of each loss and group."""
        output = pretraining_losses(model, batch)
        sums = self._objective.sums(output, batch)
        correct = output.mlm.correct
        groups = {name: (correct & group).sum() for name, group in self._groups(batch).items()}
        baseline = (batch.labels == self._most_frequent).sum()
        return LossSums(sums.losses, sums.correct | groups | {MAJORITY_TOKEN: baseline})

    def _groups(self, batch: PretrainBatch) -> dict[str, Tensor]:
        """Bool [P] for each group that has a masked token in `batch`."""
        lengths = (
            (masked_span_lengths(batch, self._word_starts), SPAN_LENGTHS),
            (example_lengths(batch), EXAMPLE_LENGTHS),
        )
        groups = {
            name: (values >= smallest) & (values <= largest)
            for values, ranges in lengths
            for name, (smallest, largest) in ranges.items()
        }
        return {name: group for name, group in groups.items() if group.any()}


def masked_span_lengths(batch: PretrainBatch, word_starts: Tensor) -> Tensor:
    """Int64 [P]: for each predicted token, the number of words in its unbroken span of predicted tokens.

    [CLS] and [SEP] are never predicted, so a span ends with its segment.
    """
    positions = batch.masked_positions
    span_starts = torch.ones_like(positions, dtype=torch.bool)
    span_starts[1:] = positions.diff() != 1
    spans = span_starts.cumsum(0) - 1
    words = (word_starts.to(positions.device)[batch.labels] | span_starts).long()
    return torch.zeros_like(positions).scatter_add_(0, spans, words)[spans]


def example_lengths(batch: PretrainBatch) -> Tensor:
    """Int64 [P]: for each predicted token, the number of tokens of its example; each row must hold one example."""
    return batch.attention_mask.sum(1)[batch.masked_positions // batch.attention_mask.shape[1]]
