"""The pretraining objective with the breakdowns that are reported for validation text.

MLM accuracy by masked span length and by example length, and the accuracy of the majority-token baseline, which
predicts the most frequent token of the training text everywhere.
"""

import torch
from torch import Tensor, nn

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective, is_correct, pretraining_output
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.training.protocols import LossSums

MAJORITY_TOKEN = "majority_token"
SPAN_LENGTHS = {"mlm_span_1": (1, 1), "mlm_span_2": (2, 2), "mlm_span_3": (3, 3), "mlm_span_4_or_more": (4, 2**31)}
"""Metric name → smallest and largest length of the masked span, in words; adjacent n-grams form one span."""
EXAMPLE_LENGTHS = {
    f"mlm_length_{shortest}_to_{longest}": (shortest, longest)
    for shortest, longest in ((1, 32), (33, 64), (65, 128), (129, 256), (257, 512))
}
"""Metric name → smallest and largest length of the example, in tokens."""


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
        output = pretraining_output(model, batch)
        sums = self._objective.sums(output, batch)
        correct = is_correct(output.mlm_logits, batch.mlm_labels)
        groups = {name: (correct & group).sum() for name, group in self._groups(batch).items()}
        baseline = (batch.mlm_labels == self._most_frequent).sum()
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
    words = (word_starts.to(positions.device)[batch.mlm_labels] | span_starts).long()
    return torch.zeros_like(positions).scatter_add_(0, spans, words)[spans]


def example_lengths(batch: PretrainBatch) -> Tensor:
    """Int64 [P]: for each predicted token, the number of tokens of its example; each row must hold one example."""
    return batch.attention_mask.sum(1)[batch.masked_positions // batch.attention_mask.shape[1]]
