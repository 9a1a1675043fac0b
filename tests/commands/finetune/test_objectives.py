"""Objectives: sums and counts add up over any cut of a batch, and right answers are right."""

import pytest
import torch
from torch import nn

from litebert.commands.finetune.objectives import (
    OBJECTIVES,
    ClassificationObjective,
    MultiLabelObjective,
    RegressionObjective,
    TokenObjective,
)
from litebert.model.outputs import ClassifierOutput
from litebert.tasks.features import Inputs, LabelledBatch
from litebert.training.protocols import Objective


class Answering(nn.Module):
    """A model that always gives one output."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *inputs):
        return self.output


def labelled_batch(labels):
    rows = torch.zeros(len(labels), 3, dtype=torch.int64)
    return LabelledBatch(Inputs(rows, rows.bool(), rows), labels, num_tokens=0)


def classifier(logits):
    return Answering(ClassifierOutput(logits))


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_each_is_an_objective(kind):
    assert isinstance(OBJECTIVES[kind](), Objective)


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


def test_several_labels_are_summed_binary_cross_entropy_over_every_decision():
    logits, labels = torch.tensor([[2.0, -1], [0.5, 3]]), torch.tensor([[1.0, 0], [0, 1]])
    sums = MultiLabelObjective()(classifier(logits), labelled_batch(labels))
    signs = 2 * labels - 1
    torch.testing.assert_close(sums.losses["label"], -(signs * logits).sigmoid().log().sum())
    assert sums.correct["label"] == 3
    assert MultiLabelObjective().counts(labelled_batch(labels)) == {"label": 4}


def test_words_are_summed_cross_entropy_where_a_label_stands():
    logits = torch.tensor([[[3.0, 0], [0, 1], [9, 9]]])
    labels = torch.tensor([[0, 0, -100]])
    sums = TokenObjective()(classifier(logits), labelled_batch(labels))
    torch.testing.assert_close(sums.losses["word"], -logits[0, :2].log_softmax(-1)[:, 0].sum())
    assert sums.correct["word"] == 1
    assert TokenObjective().counts(labelled_batch(labels)) == {"word": 2}
