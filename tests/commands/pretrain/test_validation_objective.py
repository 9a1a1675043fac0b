"""Groups of masked tokens by masked span length and by example length."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from litebert.commands.pretrain.pretraining_objective import (
    EXAMPLE_LENGTHS,
    SPAN_LENGTHS,
    example_lengths,
    masked_span_lengths,
)

STARTS = torch.tensor([True, False])
"""Token 0 begins a word, token 1 continues one."""


@dataclass
class Predicted:
    masked_positions: Tensor
    labels: Tensor
    attention_mask: Tensor


def batch(positions, labels, lengths=(8,)):
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    return Predicted(torch.tensor(positions), torch.tensor(labels), mask)


@pytest.mark.parametrize(
    ("positions", "labels", "words"),
    [
        ([1, 3, 5], [0, 0, 0], [1, 1, 1]),
        ([1, 2, 3], [0, 1, 1], [1, 1, 1]),
        ([1, 2, 3, 6], [0, 0, 1, 0], [2, 2, 2, 1]),
        ([1, 2, 3, 4, 6, 7], [0, 0, 0, 0, 0, 1], [4, 4, 4, 4, 1, 1]),
        ([2, 3, 4], [1, 1, 0], [2, 2, 2]),
        ([], [], []),
    ],
    ids=["apart", "one word of three", "two words", "two n-grams side by side", "begins inside a word", "nothing"],
)
def test_masked_span_length_counts_the_words_of_a_span(positions, labels, words):
    made = batch(positions, labels)
    made.masked_positions, made.labels = made.masked_positions.long(), made.labels.long()
    assert masked_span_lengths(made, STARTS).tolist() == words


def test_example_length_is_that_of_the_token_s_own_example():
    assert example_lengths(batch([1, 9, 10], [0, 0, 0], lengths=(8, 5))).tolist() == [8, 5, 5]


@pytest.mark.parametrize("ranges", [SPAN_LENGTHS, EXAMPLE_LENGTHS])
def test_length_groups_have_no_gap_no_overlap_and_no_end(ranges):
    bounds = list(ranges.values())
    assert (bounds[0][0], bounds[-1][1]) == (1, 2**31)
    assert all(least == before + 1 for (_, before), (least, _) in pairwise(bounds))
