"""Objectives: sums and counts add up over any cut of a batch, and right answers are right."""

from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn

from litebert.model.losses import NO_LABEL
from litebert.model.outputs import ClassifierOutput, PretrainingOutput
from litebert.runs.objectives import ClassificationObjective, PretrainingObjective, RegressionObjective
from litebert.tasks.features import ClassificationBatch, Inputs
from litebert.training.protocols import Objective


@dataclass
class PretrainingExamples:
    """Stands for a batch of a corpus."""

    mlm_labels: Tensor
    sop_labels: Tensor
    input_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    attention_mask: Tensor = field(default_factory=lambda: torch.zeros(0))
    token_type_ids: Tensor = field(default_factory=lambda: torch.zeros(0))
    predicted_positions: Tensor = field(default_factory=lambda: torch.zeros(0))
    example_starts: Tensor | None = None


class Answering(nn.Module):
    """A model that always gives one output."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *inputs):
        return self.output


def labelled_batch(labels):
    rows = torch.zeros(len(labels), 3, dtype=torch.int64)
    return ClassificationBatch(Inputs(rows, rows.bool(), rows), labels, num_tokens=0)


def classifier(logits):
    return Answering(ClassifierOutput(logits, None))


@pytest.mark.parametrize("kind", [PretrainingObjective, ClassificationObjective, RegressionObjective])
def test_each_is_an_objective(kind):
    assert isinstance(kind(), Objective)


def test_pretraining_sums_both_losses_and_counts_only_labels():
    mlm_logits, sop_logits = torch.randn(4, 7, generator=torch.manual_seed(0)), torch.tensor([[2.0, 0], [0, 1], [5, 5]])
    batch = PretrainingExamples(torch.tensor([1, 2, NO_LABEL, 3]), torch.tensor([0, 0, NO_LABEL]))
    objective = PretrainingObjective()
    sums = objective(Answering(PretrainingOutput(mlm_logits, sop_logits, None)), batch)
    expected = -mlm_logits.log_softmax(-1)[[0, 1, 3], [1, 2, 3]].sum()
    torch.testing.assert_close(sums.losses["mlm"], expected)
    torch.testing.assert_close(sums.losses["sop"], -sop_logits.log_softmax(-1)[[0, 1], [0, 0]].sum())
    assert objective.counts(batch) == {"mlm": 3, "sop": 2}
    assert sums.correct["sop"] == 1
    assert sums.correct["mlm"] == (mlm_logits.argmax(-1) == batch.mlm_labels).sum()


def test_pretraining_without_pair_labels_has_a_zero_sum_that_can_be_differentiated():
    sop_logits = torch.randn(2, 2, generator=torch.manual_seed(0)).requires_grad_()
    batch = PretrainingExamples(torch.tensor([1]), torch.tensor([NO_LABEL, NO_LABEL]))
    sums = PretrainingObjective()(Answering(PretrainingOutput(torch.zeros(1, 5), sop_logits, None)), batch)
    sums.losses["sop"].backward()
    assert sums.losses["sop"] == 0
    assert not sop_logits.grad.any()
    assert PretrainingObjective().counts(batch)["sop"] == 0


def test_classification_is_summed_cross_entropy():
    logits, labels = torch.tensor([[1.0, 2, 0], [0, 3, 1]]), torch.tensor([1, 0])
    sums = ClassificationObjective()(classifier(logits), labelled_batch(labels))
    torch.testing.assert_close(sums.losses["label"], -logits.log_softmax(-1)[[0, 1], [1, 0]].sum())
    assert sums.correct["label"] == 1
    assert ClassificationObjective().counts(labelled_batch(labels)) == {"label": 2}


def test_regression_is_summed_squared_error():
    sums = RegressionObjective()(classifier(torch.tensor([[1.0], [3.0]])), labelled_batch(torch.tensor([0.0, 5.0])))
    assert sums.losses["score"] == 1 + 4
    assert sums.correct == {}
    assert RegressionObjective().counts(labelled_batch(torch.zeros(2))) == {"score": 2}
