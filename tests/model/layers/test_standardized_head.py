"""The standardized head: training it on scores of any scale is training a dense layer on standardized scores."""

import pytest
import torch

from litebert.model.io.model_directory import load_model, save_model
from litebert.model.layers.standardized_head import StandardizedHead, head_parameters, standardize_head, with_dense_head
from litebert.model.models import ForSequenceClassification
from support.models.tolerances import tolerance

MEAN, STD = 55.0, 29.0


@pytest.fixture
def regressor(tiny_config):
    return lambda: ForSequenceClassification(tiny_config, num_labels=1).eval()


def outputs(model):
    with torch.no_grad():
        return model(torch.arange(5, 17).view(2, 6)).logits


def test_outputs_are_those_of_the_dense_head_times_std_plus_mean(regressor):
    expected = outputs(regressor()) * STD + MEAN
    model = regressor()
    standardize_head(model, mean=MEAN, std=STD, keep_outputs=False)
    torch.testing.assert_close(outputs(model), expected, rtol=tolerance(), atol=0)


def test_keep_outputs_changes_the_parameters_instead(regressor):
    expected, model = outputs(regressor()), regressor()
    standardize_head(model, mean=MEAN, std=STD, keep_outputs=True)
    torch.testing.assert_close(outputs(model), expected, rtol=0, atol=STD * tolerance())


def test_gradients_are_those_of_a_dense_layer_on_standardized_scores():
    scores, states = torch.tensor([[20.0], [90.0]]), torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    dense = torch.nn.Linear(4, 1)
    model = torch.nn.Module()
    model.classifier = torch.nn.Linear(4, 1)
    model.classifier.load_state_dict(dense.state_dict())
    standardize_head(model, mean=MEAN, std=STD, keep_outputs=False)
    ((dense(states) - (scores - MEAN) / STD) ** 2).sum().backward()
    (((model.classifier(states) - scores) ** 2).sum() / STD**2).backward()
    for name in ("weight", "bias"):
        ours, theirs = (getattr(head, name).grad for head in (model.classifier, dense))
        torch.testing.assert_close(ours, theirs, rtol=tolerance(), atol=tolerance())


def test_model_is_saved_with_a_dense_head_of_the_same_outputs(tmp_path, regressor):
    model = regressor()
    standardize_head(model, mean=MEAN, std=STD, keep_outputs=False)
    saved = load_model(save_model(model, tmp_path / "m", labels=["score"], problem_type="regression"))
    assert type(saved.classifier) is torch.nn.Linear
    torch.testing.assert_close(outputs(saved), outputs(model), rtol=tolerance(), atol=0)


def test_tensors_of_other_heads_stay_as_they_are(regressor):
    tensors = head_parameters(regressor())
    assert with_dense_head(tensors) is tensors


def test_scores_are_not_rounded_to_16_bits():
    head = StandardizedHead(torch.nn.Linear(4, 1), mean=1e4, std=1.0)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        first, second = head(torch.stack([torch.full((4,), 0.1), torch.full((4,), 0.6)]))
    assert first.dtype == torch.float32
    assert abs(first - second).item() == pytest.approx((head.weight.sum() * 0.5).abs().item(), rel=0.05)
