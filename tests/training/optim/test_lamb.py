"""LAMB's variants, against the formulas written out in float64."""

import numpy as np
import pytest
import torch
from torch import nn

from litebert.training.optim.lamb import Lamb, _batches
from support.models.tolerances import tolerance

RATE, BETA1, BETA2, EPS, DECAY = 0.01, 0.9, 0.999, 1e-6, 0.1
START = np.random.Generator(np.random.Philox(key=1)).normal(size=(4, 3))
GRADIENTS = np.random.Generator(np.random.Philox(key=2)).normal(size=(5, 4, 3))


def expected_weights(*, layer_adaptation: bool, bias_correction: bool) -> np.ndarray:
    weight, mean, square = START.copy(), np.zeros_like(START), np.zeros_like(START)
    for t, gradient in enumerate(GRADIENTS, start=1):
        mean = BETA1 * mean + (1 - BETA1) * gradient
        square = BETA2 * square + (1 - BETA2) * gradient**2
        corrections = (1 - BETA1**t, 1 - BETA2**t) if bias_correction else (1, 1)
        update = (mean / corrections[0]) / (np.sqrt(square / corrections[1]) + EPS) + DECAY * weight
        ratio = np.linalg.norm(weight) / np.linalg.norm(update) if layer_adaptation else 1.0
        weight = weight - RATE * ratio * update
    return weight


def trained(**options) -> torch.Tensor:
    weight = nn.Parameter(torch.tensor(START, dtype=torch.float32))
    optimizer = Lamb([weight], lr=RATE, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, **options)
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize("layer_adaptation", [True, False])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_lamb_follows_the_formula_for_five_steps(layer_adaptation, bias_correction):
    ours = trained(layer_adaptation=layer_adaptation, bias_correction=bias_correction)
    np.testing.assert_allclose(
        ours,
        expected_weights(layer_adaptation=layer_adaptation, bias_correction=bias_correction),
        atol=tolerance(depth="operation"),
    )


def test_lamb_without_adaptation_and_with_bias_correction_is_adamw():
    weight = nn.Parameter(torch.tensor(START, dtype=torch.float32))
    theirs = torch.optim.AdamW([weight], lr=RATE, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY)
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        theirs.step()
    np.testing.assert_allclose(
        trained(layer_adaptation=False, bias_correction=True), weight.detach(), atol=tolerance(depth="operation")
    )


@pytest.mark.parametrize(("weight", "gradient"), [(0.0, 1.0), (1.0, 0.0)])
def test_trust_ratio_is_one_if_a_norm_is_zero(weight, gradient):
    parameter = nn.Parameter(torch.full((2,), weight))
    parameter.grad = torch.full((2,), gradient)
    Lamb([parameter], lr=RATE, weight_decay=0.0).step()
    update = 0.1 * gradient / (np.sqrt(0.001) * gradient + 1e-6)
    np.testing.assert_allclose(parameter.detach(), weight - RATE * update, rtol=tolerance())


def test_trust_ratio_holds_for_updates_of_any_size():
    """A weight of 4 and an update of 0.5: the step is of the size of the weight."""
    parameter = nn.Parameter(torch.tensor([4.0]))
    parameter.grad = torch.tensor([1.0])
    Lamb([parameter], lr=RATE, betas=(0.5, 0.0), eps=0.0, weight_decay=0.0).step()
    np.testing.assert_allclose(parameter.detach(), [4 - RATE * 4], rtol=tolerance(depth="operation"))


def test_lamb_with_betas_of_zero_needs_no_correction():
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    Lamb([weight], lr=0.5, betas=(0.0, 0.0), weight_decay=0.0, layer_adaptation=False, bias_correction=True).step()
    np.testing.assert_allclose(weight.detach(), 0.5, rtol=tolerance())


def test_lamb_leaves_parameters_without_gradient():
    weight, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = Lamb([weight, unused], lr=RATE)
    optimizer.step()
    assert torch.equal(unused, torch.ones(2))
    assert unused not in optimizer.state


def test_lamb_skips_a_group_without_gradients():
    optimizer = Lamb([nn.Parameter(torch.ones(2))], lr=RATE)
    optimizer.step()
    assert not optimizer.state


def test_lamb_evaluates_a_closure_with_gradients():
    weight = nn.Parameter(torch.ones(2))

    def closure() -> float:
        loss = weight.square().sum()
        loss.backward()
        return loss.item()

    assert Lamb([weight], lr=RATE).step(closure) == 2
    assert weight.grad is not None


@pytest.mark.parametrize("layer_adaptation", [True, False])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_lamb_gives_the_same_update_for_one_and_many_parameters(monkeypatch, layer_adaptation, bias_correction):
    def updated() -> list[torch.Tensor]:
        weights = [nn.Parameter(torch.tensor(START[: rows + 1], dtype=torch.float32)) for rows in range(3)]
        optimizer = Lamb(weights, lr=RATE, layer_adaptation=layer_adaptation, bias_correction=bias_correction)
        for weight in weights:
            weight.grad = weight.detach().cos()
        optimizer.step()
        return [weight.detach() for weight in weights]

    one_by_one = updated()
    monkeypatch.setattr("litebert.training.optim.lamb._batches", lambda parameters: [parameters])
    assert all(torch.equal(one, other) for one, other in zip(one_by_one, updated(), strict=True))


def test_lamb_updates_all_parameters_at_once_on_an_accelerator():
    on_device = [torch.ones(1, device="meta"), torch.ones(2, device="meta")]
    assert _batches(on_device) == [on_device]
    assert _batches([]) == []
