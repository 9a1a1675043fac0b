"""Optimizers by name, with the excluded parameters in a group of their own."""

from typing import get_args

import pytest
import torch

from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from litebert.training.train_settings import OptimizerName
from support.toy import ToyModel, settings


def stepped(name: str, **changes) -> ToyModel:
    """The toy after one step in which every gradient is one."""
    model = ToyModel()
    optimizer = build_optimizer(model, settings(optimizer=name, **changes))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return model


@pytest.mark.parametrize("name", get_args(OptimizerName))
def test_every_optimizer_updates_every_parameter(name):
    for before, after in zip(ToyModel().parameters(), stepped(name).parameters(), strict=True):
        assert not torch.equal(before, after)


def test_the_optimizers_differ():
    weights = [stepped(name).up.weight for name in get_args(OptimizerName)]
    for index, weight in enumerate(weights):
        assert all(not torch.allclose(weight, other, atol=1e-7) for other in weights[index + 1 :])


def test_without_bias_correction_the_first_step_of_adamw_is_longer_by_the_root():
    """(1 - b1) / sqrt(1 - b2) = 3.16 times. Source: reference AdamWeightDecayOptimizer, which corrects nothing."""
    start = ToyModel().up.weight
    corrected = (stepped("adamw", weight_decay=0).up.weight - start).mean()
    uncorrected = (stepped("adamw_uncorrected", weight_decay=0).up.weight - start).mean()
    assert (uncorrected / corrected).item() == pytest.approx(0.1 / 0.001**0.5, rel=1e-3)


@pytest.mark.parametrize("name", get_args(OptimizerName))
def test_excluded_parameters_are_not_decayed(name):
    model = ToyModel()
    optimizer = build_optimizer(model, settings(optimizer=name, weight_decay=0.5))
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    found = {name: decay[id(parameter)] for name, parameter in model.named_parameters()}
    expected = {name: 0.0 if "norm" in name or "bias" in name else 0.5 for name in found}
    assert found == expected


@pytest.mark.parametrize("name", ["lamb", "lamb_bias_corrected"])
def test_excluded_parameters_are_not_adapted(name):
    """Adapted, the update of a parameter has the norm of the parameter, times the rate."""
    model, start = stepped(name), ToyModel()
    before = dict(start.named_parameters())
    moved = {name: (after - before[name]).norm().item() for name, after in model.named_parameters()}
    assert moved["up.weight"] == pytest.approx(0.01 * start.up.weight.norm().item(), rel=1e-4)
    assert moved["up.bias"] != pytest.approx(0.01 * start.up.bias.norm().item(), rel=0.1)


def test_nothing_excluded_gives_one_group():
    assert len(build_optimizer(ToyModel(), settings(exclude=[])).param_groups) == 1


def test_frozen_parameters_are_left_out():
    model = ToyModel()
    model.up.requires_grad_(False)
    held = [p for group in build_optimizer(model, settings()).param_groups for p in group["params"]]
    assert not any(parameter is model.up.weight for parameter in held)


def test_the_learning_rate_is_set_in_every_group():
    optimizer = build_optimizer(ToyModel(), settings())
    set_learning_rate(optimizer, 0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.5]


def test_a_rate_factor_scales_the_updates_of_its_parameters_alone():
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


def test_parameters_that_do_not_train_are_not_the_optimizers():
    model = ToyModel()
    model.up.requires_grad_(False)
    held = [id(p) for group in build_optimizer(model, settings()).param_groups for p in group["params"]]
    assert not {id(parameter) for parameter in model.up.parameters()} & set(held)
