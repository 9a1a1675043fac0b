"""FLOPs of a batch count each example by its own length."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from litebert.commands.pretrain.pretraining_objective import sequence_lengths, training_flops
from litebert.model.model_stats import flops_per_token
from litebert.model.presets import preset
from support.models.tolerances import tolerance

CONFIG = preset("albert-base-v2")


@dataclass
class Lengths:
    """The fields of a PretrainBatch that its FLOPs depend on."""

    attention_mask: Tensor
    labels: Tensor
    sequence_starts: Tensor | None = None

    @property
    def num_tokens(self) -> int:
        return int(self.attention_mask.sum())


def rows(*lengths: int, width: int) -> Tensor:
    return torch.arange(width) < torch.tensor(lengths)[:, None]


def test_training_flops_of_full_rows_are_those_per_token_times_tokens():
    batch = Lengths(rows(512, 512, width=512), torch.zeros(154))
    expected = 1024 * flops_per_token(CONFIG, length=512, predicted=154 / 1024).training
    assert training_flops(CONFIG, batch) == pytest.approx(expected, rel=tolerance(torch.float64, "compound"))


def test_training_flops_of_short_rows_are_below_those_of_the_longest_row():
    batch = Lengths(rows(60, 60, width=512), torch.zeros(18))
    upper_bound = batch.num_tokens * flops_per_token(CONFIG, length=512, predicted=0.15).training
    assert training_flops(CONFIG, batch) < 0.95 * upper_bound


def test_sequence_lengths_of_packed_rows_are_those_of_the_examples():
    """Rows of 3 + 2 and of 4 tokens, 6 wide."""
    batch = Lengths(rows(5, 4, width=6), torch.zeros(1), sequence_starts=torch.tensor([0, 3, 6]))
    assert sequence_lengths(batch).tolist() == [3, 2, 4]


def test_sequence_lengths_without_packing_are_those_of_the_rows():
    assert sequence_lengths(Lengths(rows(5, 4, width=6), torch.zeros(1))).tolist() == [5, 4]
