import pytest
import torch
import torch.nn.functional as F

from litebert.model.losses import answerability_losses, classification_loss, regression_loss, span_loss
from litebert.model.outputs import EncoderOutput, QuestionAnsweringWithNoAnswerOutput, SpanOutput
from support.models.tolerances import tolerance

NOTHING = EncoderOutput(torch.zeros(3, 4, 2), torch.zeros(3, 2))
SCORES = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))


def test_classification_loss_is_a_sum_over_labels():
    labels = torch.tensor([2, -100, 0])
    expected = -(SCORES[0].log_softmax(-1)[0, 2] + SCORES[0].log_softmax(-1)[2, 0])
    assert classification_loss(SCORES[0], labels).item() == pytest.approx(expected.item())


def test_losses_without_labels_are_zero_with_zero_gradients():
    logits = SCORES[0].clone().requires_grad_()
    loss = classification_loss(logits, torch.full((3,), -100))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()


def test_losses_of_two_halves_sum_to_the_loss_of_the_batch():
    labels, loss = torch.tensor([1, 2, 3]), classification_loss
    halves = loss(SCORES[0][:1], labels[:1]) + loss(SCORES[0][1:], labels[1:])
    assert halves.item() == pytest.approx(loss(SCORES[0], labels).item())


def test_regression_loss_is_the_sum_of_squares_also_of_a_score_of_minus_100():
    predictions, targets = torch.tensor([1.0, -98.0, 5.0]), torch.tensor([0.0, -100.0, 2.0])
    assert regression_loss(predictions, targets) == 1 + 4 + 9


def test_span_loss_is_the_mean_of_start_and_end():
    output = SpanOutput(SCORES[0], SCORES[1], NOTHING)
    starts, ends = torch.tensor([0, 1, 2]), torch.tensor([1, 3, 2])
    expected = (F.cross_entropy(SCORES[0], starts) + F.cross_entropy(SCORES[1], ends)) / 2
    assert span_loss(output, starts, ends).item() == pytest.approx(3 * expected.item())


def test_answerability_losses_are_span_and_impossible():
    log_probs = SCORES.log_softmax(-1)
    output = QuestionAnsweringWithNoAnswerOutput(log_probs[0], log_probs[1], torch.tensor([0.0, 20.0, -20.0]), NOTHING)
    starts, ends = torch.tensor([0, -100, 2]), torch.tensor([1, -100, 2])
    losses = answerability_losses(output, starts, ends, torch.tensor([1.0, 1.0, 0.0]))
    expected = -(log_probs[0, 0, 0] + log_probs[0, 2, 2] + log_probs[1, 0, 1] + log_probs[1, 2, 2]) / 2
    assert losses["span"].item() == pytest.approx(expected.item())
    assert losses["impossible"].item() == pytest.approx(
        torch.tensor(2.0).log().item(), abs=tolerance(depth="operation")
    )
