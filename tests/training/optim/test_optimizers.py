"""Optimizers by name, with parameter groups for weight decay, layer adaptation and learning rate multipliers."""

import pytest
import torch

from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from support.models.tolerances import tolerance
from support.runs.toy import ToyModel, settings

BOTH = pytest.mark.parametrize("name", ["lamb", "adamw"])
CHOICES = [(name, corrected) for name in ("lamb", "adamw") for corrected in (False, True)]
LEARNING_RATE = 0.01


def stepped(name: str, **changes) -> ToyModel:
    """The toy after one step in which every gradient is one."""
    model = ToyModel()
    optimizer = build_optimizer(model, settings(optimizer=name, **changes))
    set_learning_rate(optimizer, LEARNING_RATE)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return model


@pytest.mark.parametrize(("name", "corrected"), CHOICES)
def test_optimizer_updates_every_parameter(name, corrected):
    after = stepped(name, bias_correction=corrected)
    for before, parameter in zip(ToyModel().parameters(), after.parameters(), strict=True):
        assert not torch.equal(before, parameter)


def test_optimizers_with_and_without_bias_correction_differ():
    weights = [stepped(name, bias_correction=corrected).up.weight for name, corrected in CHOICES]
    for index, weight in enumerate(weights):
        assert all(not torch.allclose(weight, other, atol=1e-7) for other in weights[index + 1 :])


@pytest.mark.parametrize(("name", "corrected"), [("lamb", False), ("adamw", True)])
def test_bias_correction_defaults_to_that_of_the_optimizer(name, corrected):
    assert torch.equal(stepped(name).up.weight, stepped(name, bias_correction=corrected).up.weight)


def test_adamw_without_bias_correction_takes_a_longer_first_step():
    """(1 - b1) / sqrt(1 - b2) = 3.16 times. Source: reference AdamWeightDecayOptimizer, which corrects nothing."""
    start = ToyModel().up.weight
    corrected = (stepped("adamw", weight_decay=0).up.weight - start).mean()
    uncorrected = (stepped("adamw", bias_correction=False, weight_decay=0).up.weight - start).mean()
    assert (uncorrected / corrected).item() == pytest.approx(0.1 / 0.001**0.5, rel=1e-3)


@BOTH
def test_excluded_parameters_are_not_decayed(name):
    model = ToyModel()
    optimizer = build_optimizer(model, settings(optimizer=name, weight_decay=0.5))
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    found = {name: decay[id(parameter)] for name, parameter in model.named_parameters()}
    expected = {name: 0.0 if "norm" in name or "bias" in name else 0.5 for name in found}
    assert found == expected


@pytest.mark.parametrize("corrected", [False, True])
def test_excluded_parameters_are_not_adapted(corrected):
    """With layer adaptation, the norm of an update is that of its parameter, times the learning rate."""
    model, start = stepped("lamb", bias_correction=corrected), ToyModel()
    before = dict(start.named_parameters())
    moved = {name: (after - before[name]).norm().item() for name, after in model.named_parameters()}
    assert moved["up.weight"] == pytest.approx(
        LEARNING_RATE * start.up.weight.norm().item(), rel=tolerance(depth="compound")
    )
    assert moved["up.bias"] != pytest.approx(LEARNING_RATE * start.up.bias.norm().item(), rel=0.1)


def test_exclusions_from_weight_decay_and_layer_adaptation_are_independent():
    chosen = settings(exclude_from_weight_decay=["up"], exclude_from_layer_adaptation=["norm"], weight_decay=0.5)
    groups = build_optimizer(ToyModel(), chosen).param_groups
    found = {(group["weight_decay"], group["layer_adaptation"]): len(group["params"]) for group in groups}
    assert found == {(0.0, True): 2, (0.5, False): 2, (0.5, True): 6}


def test_optimizer_has_one_group_if_nothing_is_excluded():
    assert len(build_optimizer(ToyModel(), settings(exclude_from_weight_decay=[])).param_groups) == 1


def test_optimizer_leaves_out_frozen_parameters():
    model = ToyModel()
    model.up.requires_grad_(False)
    held = [p for group in build_optimizer(model, settings()).param_groups for p in group["params"]]
    assert not any(parameter is model.up.weight for parameter in held)


def test_set_learning_rate_reaches_every_group():
    optimizer = build_optimizer(ToyModel(), settings())
    set_learning_rate(optimizer, 0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.5]


def test_lr_multiplier_scales_the_updates_of_its_parameters_only():
    model, start = ToyModel(), ToyModel()
    optimizer = build_optimizer(
        model, settings(optimizer="adamw", weight_decay=0), lr_multipliers={"up.weight": 0.25, "up.bias": 0.25}
    )
    set_learning_rate(optimizer, 0.02)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    for name, parameter in model.named_parameters():
        moved = (start.get_parameter(name) - parameter).mean().item()
        assert moved == pytest.approx(0.02 * (0.25 if name.startswith("up.") else 1.0), rel=1e-3)
