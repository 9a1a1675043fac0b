"""What is counted on held-out text. Before: evaluation batches. After: `held_out.py`.

Besides both losses: which masked tokens were right by how many words are hidden in a row, and by how long the example
is; and how many were the most frequent token, which is what knowing nothing would score.
"""

import torch
from torch import Tensor, nn

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective, is_right, pretraining_output
from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.training.protocols import LossSums

BASELINE = "mlm_baseline"
HIDDEN_WORDS = {"mlm_1_word": (1, 1), "mlm_2_words": (2, 2), "mlm_3_words": (3, 3), "mlm_4_words_or_more": (4, 2**31)}
"""Name → least and most words that stand hidden in a row; neighbouring n-grams are one stretch."""
EXAMPLE_TOKENS = {
    "mlm_to_32_tokens": (1, 32),
    "mlm_to_64_tokens": (33, 64),
    "mlm_to_128_tokens": (65, 128),
    "mlm_to_256_tokens": (129, 256),
    "mlm_to_512_tokens": (257, 512),
}
"""Name → least and most tokens of the example."""


class HeldOutObjective:
    """PretrainingObjective and the breakdown of its masked-token accuracy."""

    def __init__(self, pairing: Pairing, *, word_starts: Tensor, most_frequent: int) -> None:
        self._objective = PretrainingObjective(pairing)
        self._word_starts = word_starts
        self._most_frequent = most_frequent

    def counts(self, batch: PretrainBatch) -> dict[str, int]:
        """Labels of each loss, and masked tokens of each group."""
        counts = self._objective.counts(batch)
        groups = {name: int(group.sum()) for name, group in self._groups(batch).items()}
        return counts | groups | {BASELINE: counts["mlm"]}

    def __call__(self, model: nn.Module, batch: PretrainBatch) -> LossSums:
        """Summed losses, and right answers of everything that is counted."""
        output = pretraining_output(model, batch)
        sums = self._objective.sums(output, batch)
        right = is_right(output.mlm_logits, batch.mlm_labels)
        groups = {name: (right & group).sum() for name, group in self._groups(batch).items()}
        baseline = (batch.mlm_labels == self._most_frequent).sum()
        return LossSums(sums.losses, sums.correct | groups | {BASELINE: baseline})

    def _groups(self, batch: PretrainBatch) -> dict[str, Tensor]:
        """Bool [P] for each group that has any masked token in `batch`."""
        words, tokens = hidden_words(batch, self._word_starts), example_tokens(batch)
        groups = {name: (words >= least) & (words <= most) for name, (least, most) in HIDDEN_WORDS.items()}
        groups |= {name: (tokens >= least) & (tokens <= most) for name, (least, most) in EXAMPLE_TOKENS.items()}
        return {name: group for name, group in groups.items() if group.any()}


def hidden_words(batch: PretrainBatch, word_starts: Tensor) -> Tensor:
    """Int64 [P]: words of the unbroken stretch of predicted tokens that each one is in.

    [CLS] and [SEP] are never predicted, so a stretch ends with its segment.
    """
    positions = batch.masked_positions
    begins = torch.ones_like(positions, dtype=torch.bool)
    begins[1:] = positions.diff() != 1
    stretches = begins.cumsum(0) - 1
    starts = (word_starts.to(positions.device)[batch.mlm_labels] | begins).long()
    return torch.zeros_like(positions).scatter_add_(0, stretches, starts)[stretches]


def example_tokens(batch: PretrainBatch) -> Tensor:
    """Int64 [P]: tokens of the example that each predicted token is in; rows must hold one example each."""
    return batch.attention_mask.sum(1)[batch.masked_positions // batch.attention_mask.shape[1]]
