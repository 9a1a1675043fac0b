"""Model and optimizer as named tensors."""

from collections.abc import Sequence

import pytest
import torch
from torch import nn

from litebert.errors import CheckpointError
from litebert.training.checkpointing.run_checkpoints import (
    model_tensors,
    optimizer_tensors,
    restore_model,
    restore_optimizer,
)
from litebert.training.optim.optimizers import build_optimizer
from support.runs.toy import ToyModel, settings


def stepped(
    optimizer_name: str, names: Sequence[str] = ("up.weight", "norm.bias")
) -> tuple[ToyModel, torch.optim.Optimizer]:
    """The toy after a step in which the parameters `names` have gradients."""
    model = ToyModel()
    optimizer = build_optimizer(model, settings(optimizer=optimizer_name))
    for name in names:
        parameter = model.get_parameter(name)
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return model, optimizer


def test_model_tensors_have_parameters_and_buffers():
    model = ToyModel()
    assert model_tensors(model).keys() == model.state_dict().keys()


def test_restore_model_loads_model_tensors():
    model = ToyModel(seed=1)
    model.offset.fill_(3)
    other = ToyModel(seed=2)
    restore_model(other, model_tensors(model))
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.mark.parametrize("name", ["lamb", "adamw"])
def test_restore_optimizer_loads_optimizer_tensors(name):
    model, optimizer = stepped(name)
    tensors = optimizer_tensors(model, optimizer)
    assert {path.partition("/")[0] for path in tensors} == {"up.weight", "norm.bias"}
    other = ToyModel()
    restored = build_optimizer(other, settings(optimizer=name))
    restore_optimizer(other, restored, tensors)
    again = optimizer_tensors(other, restored)
    assert tensors.keys() == again.keys()
    assert all(torch.equal(tensors[path], again[path]) for path in tensors)


def test_restore_optimizer_forgets_the_moments_that_were_not_saved():
    saved = optimizer_tensors(*stepped("lamb", ["up.weight"]))
    model, optimizer = stepped("lamb")
    restore_optimizer(model, optimizer, saved)
    assert optimizer_tensors(model, optimizer).keys() == saved.keys()


def test_model_tensors_have_shared_parameters_once():
    model = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    model["b"].weight = model["a"].weight
    assert model_tensors(model).keys() == {"a.weight", "a.bias", "b.bias"}


def test_model_tensors_leave_out_buffers_that_are_not_persistent():
    model = nn.Linear(1, 1)
    model.register_buffer("positions", torch.arange(3), persistent=False)
    assert model_tensors(model).keys() == {"weight", "bias"}


def test_restore_model_refuses_other_names():
    with pytest.raises(CheckpointError, match=r"such as 'bias'; resume with the model that the run began with"):
        restore_model(nn.Linear(1, 1), {"weight": torch.ones(1, 1)})
