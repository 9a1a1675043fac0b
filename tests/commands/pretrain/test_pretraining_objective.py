"""Pretraining's objective: sums and counts add up, only labels count, and a pair task has its own name."""

from dataclasses import dataclass, field
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective, is_right, right_answers
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.model.losses import NO_LABEL
from litebert.model.outputs import PretrainingOutput
from litebert.training.protocols import Objective


@dataclass
class PretrainingExamples:
    """Stands for a batch of a corpus."""

    mlm_labels: Tensor
    sentence_pair_labels: Tensor
    input_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    attention_mask: Tensor = field(default_factory=lambda: torch.zeros(0))
    token_type_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    masked_positions: Tensor = field(default_factory=lambda: torch.zeros(0))
    sequence_starts: Tensor | None = None


class Answering(nn.Module):
    """A model that always gives one output."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *inputs):
        return self.output


def test_it_is_an_objective():
    assert isinstance(PretrainingObjective(), Objective)


@pytest.mark.parametrize("pairing", get_args(Pairing))
def test_next_sentences_are_not_called_sentence_order(pairing):
    batch = PretrainingExamples(torch.tensor([1]), torch.tensor([0]))
    output = PretrainingOutput(torch.zeros(1, 5), torch.zeros(1, 2))
    sums = PretrainingObjective(pairing)(Answering(output), batch)
    expected = {"mlm", "nsp" if pairing == "nsp" else "sop"}
    assert set(sums.losses) == set(sums.correct) == set(PretrainingObjective(pairing).counts(batch)) == expected


def test_pretraining_sums_both_losses_and_counts_only_labels():
    mlm_logits, sentence_pair_logits = (
        torch.randn(4, 7, generator=torch.manual_seed(0)),
        torch.tensor([[2.0, 0], [0, 1], [5, 5]]),
    )
    batch = PretrainingExamples(torch.tensor([1, 2, NO_LABEL, 3]), torch.tensor([0, 0, NO_LABEL]))
    objective = PretrainingObjective()
    sums = objective(Answering(PretrainingOutput(mlm_logits, sentence_pair_logits)), batch)
    expected = -mlm_logits.log_softmax(-1)[[0, 1, 3], [1, 2, 3]].sum()
    torch.testing.assert_close(sums.losses["mlm"], expected)
    torch.testing.assert_close(sums.losses["sop"], -sentence_pair_logits.log_softmax(-1)[[0, 1], [0, 0]].sum())
    assert objective.counts(batch) == {"mlm": 3, "sop": 2}
    assert sums.correct["sop"] == 1
    assert sums.correct["mlm"] == (mlm_logits.argmax(-1) == batch.mlm_labels).sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_equal_logits_the_first_one_answers(dtype):
    """As with argmax; logits of 16 bits are often equal."""
    logits = torch.randint(5, (200, 9), generator=torch.manual_seed(0)).to(dtype)
    logits[0, 3] = float("nan")
    labels = torch.arange(200) % 10 - 1
    labels[labels < 0] = NO_LABEL
    assert torch.equal(is_right(logits, labels), logits.argmax(-1) == labels)
    assert right_answers(logits, labels) == (logits.argmax(-1) == labels).sum() > 0


def test_pretraining_without_pair_labels_has_a_zero_sum_that_can_be_differentiated():
    sentence_pair_logits = torch.randn(2, 2, generator=torch.manual_seed(0)).requires_grad_()
    batch = PretrainingExamples(torch.tensor([1]), torch.tensor([NO_LABEL, NO_LABEL]))
    sums = PretrainingObjective()(Answering(PretrainingOutput(torch.zeros(1, 5), sentence_pair_logits)), batch)
    sums.losses["sop"].backward()
    assert sums.losses["sop"] == 0
    assert not sentence_pair_logits.grad.any()
    assert PretrainingObjective().counts(batch)["sop"] == 0
