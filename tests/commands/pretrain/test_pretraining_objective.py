"""The pretraining objective: sums and counts add up, only labels count, each pair objective has its own name."""

from dataclasses import dataclass, field
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective, is_correct, with_rounded_labels
from litebert.corpus.sampling.sampling_settings import Pairing
from litebert.model.kernels.cross_entropy import vocabulary_loss
from litebert.model.losses import NO_LABEL
from litebert.model.outputs import PretrainingLosses
from litebert.training.protocols import Objective


@dataclass
class PretrainingExamples:
    """A batch as the objective sees it."""

    labels: Tensor
    sentence_pair_labels: Tensor
    input_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    attention_mask: Tensor = field(default_factory=lambda: torch.zeros(0))
    token_type_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    masked_positions: Tensor = field(default_factory=lambda: torch.zeros(0))
    sequence_starts: Tensor | None = None
    causal: bool = False


class Fixed(nn.Module):
    """A model that always has the same logits."""

    def __init__(self, mlm_logits, sentence_pair_logits):
        super().__init__()
        self.mlm_logits, self.sentence_pair_logits = mlm_logits, sentence_pair_logits

    def forward(self, *inputs, masked_labels, causal):
        classes = self.mlm_logits.shape[1]
        loss = vocabulary_loss(self.mlm_logits, torch.eye(classes), torch.zeros(classes), masked_labels)
        return PretrainingLosses(loss, self.sentence_pair_logits)


def test_pretraining_objective_implements_the_protocol():
    assert isinstance(PretrainingObjective(), Objective)


@pytest.mark.parametrize("pairing", get_args(Pairing))
def test_pretraining_objective_names_the_pair_loss_after_its_pairing(pairing):
    batch = PretrainingExamples(torch.tensor([1]), torch.tensor([NO_LABEL if pairing == "none" else 0]))
    sums = PretrainingObjective(pairing)(Fixed(torch.zeros(1, 5), torch.zeros(1, 2)), batch)
    expected = {"mlm"} | ({pairing} - {"none"})
    assert set(sums.losses) == set(sums.correct) == set(PretrainingObjective(pairing).counts(batch)) == expected


def test_pretraining_objective_sums_both_losses_and_counts_only_labels():
    mlm_logits, sentence_pair_logits = (
        torch.randn(4, 7, generator=torch.manual_seed(0)),
        torch.tensor([[2.0, 0], [0, 1], [5, 5]]),
    )
    batch = PretrainingExamples(torch.tensor([1, 2, NO_LABEL, 3]), torch.tensor([0, 0, NO_LABEL]))
    objective = PretrainingObjective()
    sums = objective(Fixed(mlm_logits, sentence_pair_logits), batch)
    expected = -mlm_logits.log_softmax(-1)[[0, 1, 3], [1, 2, 3]].sum()
    torch.testing.assert_close(sums.losses["mlm"], expected)
    torch.testing.assert_close(sums.losses["sop"], -sentence_pair_logits.log_softmax(-1)[[0, 1], [0, 0]].sum())
    assert objective.counts(batch) == {"mlm": 3, "sop": 2}
    assert sums.correct["sop"] == 1
    assert sums.correct["mlm"] == (mlm_logits.argmax(-1) == batch.labels).sum()


def test_pretraining_objective_of_a_causal_batch_is_the_next_token_loss_alone():
    logits = torch.randn(3, 7, generator=torch.manual_seed(0))
    batch = PretrainingExamples(torch.tensor([1, 2, 3]), torch.tensor([NO_LABEL, NO_LABEL]), causal=True)
    objective = PretrainingObjective()
    sums = objective(Fixed(logits, torch.zeros(2, 2)), batch)
    torch.testing.assert_close(sums.losses, {"clm": -logits.log_softmax(-1)[[0, 1, 2], [1, 2, 3]].sum()})
    assert objective.counts(batch) == {"clm": 3}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_is_correct_takes_the_first_of_equal_logits(dtype):
    """As with argmax; logits of 16 bits are often equal."""
    logits = torch.randint(5, (200, 9), generator=torch.manual_seed(0)).to(dtype)
    logits[0, 3] = float("nan")
    labels = torch.arange(200) % 10 - 1
    labels[labels < 0] = NO_LABEL
    assert torch.equal(is_correct(logits, labels), logits.argmax(-1) == labels)
    assert is_correct(logits, labels).any()


def test_rounded_labels_are_followed_by_positions_without_a_label():
    labels, positions = torch.arange(1_001), torch.arange(1_001) + 7
    batch = PretrainingExamples(labels, torch.tensor([0]), masked_positions=positions)
    rounded = with_rounded_labels(batch)
    assert len(rounded.labels) == len(rounded.masked_positions) == 1_008
    assert torch.equal(rounded.labels[:1_001], labels)
    assert torch.equal(rounded.masked_positions[:1_001], positions)
    assert (rounded.labels[1_001:] == NO_LABEL).all()
    assert PretrainingObjective().counts(rounded) == PretrainingObjective().counts(batch)
    assert with_rounded_labels(rounded) is rounded


def test_pairing_none_gives_the_pair_head_a_zero_gradient_and_no_metric():
    pair_logits = torch.randn(2, 2, generator=torch.manual_seed(0)).requires_grad_()
    batch = PretrainingExamples(torch.tensor([1]), torch.tensor([NO_LABEL, NO_LABEL]))
    model = Fixed(torch.zeros(1, 5), pair_logits)
    none, sop = PretrainingObjective("none"), PretrainingObjective("sop")
    sums = none(model, batch)
    sums.losses["mlm"].backward()
    assert pair_logits.grad is not None
    assert not pair_logits.grad.any()
    assert sums.losses["mlm"] == sop(model, batch).losses["mlm"]
    assert none.counts(batch) == {"mlm": 1}
