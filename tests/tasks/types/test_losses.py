"""Losses of the task types."""

import pytest
import torch
from torch import nn

from litebert.commands.finetune.data.task_objective import TaskObjective
from litebert.model.model_inputs import ModelInputs
from litebert.model.outputs import ClassifierOutput
from litebert.tasks.encoded import LabelledBatch
from litebert.tasks.types.registry import get_task_type, task_types
from litebert.training.protocols import Objective


class ConstantModel(nn.Module):
    """A model with one output."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *inputs):
        return self.output


def labelled_batch(labels):
    rows = torch.zeros(len(labels), 3, dtype=torch.int64)
    return LabelledBatch(ModelInputs(rows, rows.bool(), rows), labels, num_tokens=0)


def classifier(logits):
    return ConstantModel(ClassifierOutput(logits))


def objective(name):
    return TaskObjective(get_task_type(name).loss)


@pytest.mark.parametrize("task_type", [each.name for each in task_types()])
def test_task_objective_is_an_objective_of_training(task_type):
    assert isinstance(objective(task_type), Objective)


def test_classification_loss_is_summed_cross_entropy():
    logits, labels = torch.tensor([[1.0, 2, 0], [0, 3, 1]]), torch.tensor([1, 0])
    sums = objective("classification")(classifier(logits), labelled_batch(labels))
    torch.testing.assert_close(sums.losses["label"], -logits.log_softmax(-1)[[0, 1], [1, 0]].sum())
    assert sums.correct["label"] == 1
    assert objective("classification").counts(labelled_batch(labels)) == {"label": 2}


def test_regression_loss_is_summed_squared_error():
    sums = objective("regression")(classifier(torch.tensor([[1.0], [3.0]])), labelled_batch(torch.tensor([0.0, 5.0])))
    assert sums.losses["score"] == 1 + 4
    assert sums.correct == {}
    assert objective("regression").counts(labelled_batch(torch.zeros(2))) == {"score": 2}


def test_multi_label_loss_is_summed_binary_cross_entropy():
    logits, labels = torch.tensor([[2.0, -1], [0.5, 3]]), torch.tensor([[1.0, 0], [0, 1]])
    sums = objective("multi_label")(classifier(logits), labelled_batch(labels))
    signs = 2 * labels - 1
    torch.testing.assert_close(sums.losses["label"], -(signs * logits).sigmoid().log().sum())
    assert sums.correct["label"] == 3
    assert objective("multi_label").counts(labelled_batch(labels)) == {"label": 4}


def test_token_classification_loss_is_at_labelled_positions():
    logits = torch.tensor([[[3.0, 0], [0, 1], [9, 9]]])
    labels = torch.tensor([[0, 0, -100]])
    sums = objective("token_classification")(classifier(logits), labelled_batch(labels))
    torch.testing.assert_close(sums.losses["word"], -logits[0, :2].log_softmax(-1)[:, 0].sum())
    assert sums.correct["word"] == 1
    assert objective("token_classification").counts(labelled_batch(labels)) == {"word": 2}
