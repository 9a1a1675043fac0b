"""LAMB equals google-research/albert, from the same start with the same gradients. Two processes do so in
tests/distributed."""

import pytest
import torch
from torch import Tensor

from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from support.models.golden_lamb import NAMES, STEPS, after, gradient, model, settings
from support.models.tolerances import PROMISED


@pytest.fixture(scope="module")
def trajectory() -> list[dict[str, Tensor]]:
    """Values of every variable after each step of litebert's LAMB."""
    variables = model()
    optimizer = build_optimizer(variables, settings())
    set_learning_rate(optimizer, settings().learning_rate)
    values = []
    for step in range(STEPS):
        for name in NAMES:
            variables[name].grad = gradient(name, step)
        optimizer.step()
        values.append({name: variables[name].detach().clone() for name in NAMES})
    return values


def test_lamb_reference_has_twenty_steps():
    assert STEPS == 20


@pytest.mark.parametrize("name", NAMES)
def test_lamb_equals_the_reference_for_twenty_steps(trajectory, name):
    for step in range(STEPS):
        torch.testing.assert_close(trajectory[step][name], after(name, step), rtol=0, atol=PROMISED["optimizer"])
