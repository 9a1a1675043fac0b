"""Muon for matrices and AdamW for all other parameters: equal to both of torch stepped by hand, resumed exactly."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.training.optim.muon import orthogonalized, owners_of
from litebert.training.optim.optimizers import build_optimizer, set_learning_rate
from support.models.tolerances import tolerance
from support.runs.callbacks import KilledError, killer
from support.runs.toy import ToyBatches, ToyModel, losses, settings, train, weights

MUON = {"optimizer": "muon", "muon_parameters": ["up", "classifier"], "learning_rate": 0.01, "muon_learning_rate": 0.05}


def set_gradients(model: torch.nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def stepped_by_hand(steps: int, *, weight_decay: float) -> ToyModel:
    """The toy model after `steps` updates of torch's optimizers."""
    model = ToyModel()
    matrices = [model.up.weight, model.classifier.weight]
    decayed = [model.size.weight, model.unused.weight]
    chosen = {id(parameter) for parameter in (*matrices, *decayed)}
    plain = [parameter for parameter in model.parameters() if id(parameter) not in chosen]
    muon = torch.optim.Muon(matrices, lr=0.05, momentum=0.95, weight_decay=weight_decay)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.98), eps=1e-6)
    for step in range(steps):
        set_gradients(model, step)
        for optimizer in (muon, adamw):
            optimizer.step()
    return model


def test_muon_equals_torch_muon_and_adamw_stepped_by_hand():
    model = ToyModel()
    optimizer = build_optimizer(model, settings(**MUON, betas=[0.9, 0.98], weight_decay=0.1, precision="bf16"))
    for step in range(4):
        set_gradients(model, step)
        set_learning_rate(optimizer, 0.01)
        optimizer.step()
    expected = stepped_by_hand(4, weight_decay=0.1)
    for (name, parameter), other in zip(model.named_parameters(), expected.parameters(), strict=True):
        assert torch.allclose(parameter, other, atol=tolerance(depth="operation"), rtol=tolerance()), name


def test_muon_updates_only_matrices_that_its_patterns_match():
    model = ToyModel()
    optimizer = build_optimizer(model, settings(**MUON))
    set_gradients(model, 0)
    optimizer.step()
    names = {parameter: name for name, parameter in model.named_parameters()}
    matrices = {names[parameter] for parameter, state in optimizer.state.items() if "momentum_buffer" in state}
    assert matrices == {"up.weight", "classifier.weight"}
    assert len(optimizer.state) == len(names)


def test_muon_leaves_a_matrix_without_gradient_as_it_is():
    model = ToyModel()
    optimizer = build_optimizer(model, settings(**MUON, weight_decay=0.1))
    set_learning_rate(optimizer, 0.01)
    for step, has_gradient in enumerate([False, True, False]):
        before = model.up.weight.clone()
        momentum = optimizer.state.get(model.up.weight, {}).get("momentum_buffer", torch.zeros(())).clone()
        set_gradients(model, step)
        if not has_gradient:
            model.up.weight.grad = None
        optimizer.step()
        assert torch.equal(model.up.weight, before) == (not has_gradient)
        if step == 2:
            assert torch.equal(optimizer.state[model.up.weight]["momentum_buffer"], momentum)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("fp16", torch.float32), ("bf16", torch.bfloat16)]
)
def test_muon_computes_directions_in_bf16_only_in_runs_of_bf16(monkeypatch, precision, dtype):
    found = []
    monkeypatch.setattr(
        "litebert.training.optim.muon.orthogonalized",
        lambda matrices: found.append(matrices.dtype) or orthogonalized(matrices),
    )
    model = ToyModel()
    optimizer = build_optimizer(model, settings(**MUON, precision=precision))
    set_gradients(model, 0)
    optimizer.step()
    assert set(found) == {dtype}


def test_muon_learning_rate_follows_the_schedule_and_the_multipliers():
    optimizer = build_optimizer(ToyModel(), settings(**MUON), lr_multipliers={"up.weight": 0.5, "size.weight": 0.5})
    set_learning_rate(optimizer, 0.001)
    rates = {round(group["lr"], 9) for group in optimizer.param_groups}
    assert rates == {0.005, 0.0025, 0.001, 0.0005}


def test_muon_state_is_loaded_from_its_state_dict():
    models = ToyModel(), ToyModel(seed=1)
    optimizers = [build_optimizer(model, settings(**MUON)) for model in models]
    for step in range(2):
        set_gradients(models[0], step)
        optimizers[0].step()
    models[1].load_state_dict(models[0].state_dict())
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    for model, optimizer in zip(models, optimizers, strict=True):
        set_gradients(model, 2)
        optimizer.step()
    assert torch.equal(weights(models[0]), weights(models[1]))


@pytest.mark.parametrize("shape", [(8, 8), (24, 8), (8, 24)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_direction_has_the_singular_vectors_of_the_momentum(shape, dtype):
    left, _ = torch.linalg.qr(torch.randn(shape[0], 8, generator=torch.Generator().manual_seed(1)).double())
    right, _ = torch.linalg.qr(torch.randn(shape[1], 8, generator=torch.Generator().manual_seed(2)).double())
    momentum = left * torch.linspace(0.1, 1, 8, dtype=torch.float64) @ right.T
    found = left.T @ orthogonalized(momentum.to(dtype)[None])[0].double() @ right
    singular = found.diagonal()
    assert ((singular > 0.6) & (singular < 1.3)).all()
    assert torch.allclose(found, singular.diag(), atol=tolerance(dtype, "compound"))


def test_direction_does_not_depend_on_the_other_matrices():
    small, large = (
        torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(3)) * torch.tensor([0.01, 100])[:, None, None]
    )
    together = orthogonalized(torch.stack([small, large]))
    for matrix, direction in zip((small, large), together, strict=True):
        assert torch.allclose(direction, orthogonalized(matrix[None])[0], atol=tolerance(torch.float32, "compound"))


def test_momentum_of_zeros_has_no_direction():
    assert not orthogonalized(torch.zeros(2, 4, 6)).any()


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)).map(torch.Size), max_size=20), st.integers(1, 6))
def test_matrices_are_divided_among_processes_by_their_cost(shapes, processes):
    owners = owners_of(shapes, processes)
    costs = [min(shape) ** 2 * max(shape) for shape in shapes]
    work = [sum(cost for cost, owner in zip(costs, owners, strict=True) if owner == rank) for rank in range(processes)]
    assert len(owners) == len(shapes)
    assert max(work) - min(work) <= max(costs, default=0), "moving one matrix would not help the busiest one"


@pytest.mark.parametrize("patterns", [["nothing"], ["."]])
def test_muon_without_matrices_or_without_others_is_refused(patterns):
    model = torch.nn.Linear(2, 2, bias=False)
    with pytest.raises(ConfigError, match=r"muon_parameters: \d matrices match"):
        build_optimizer(model, settings(**{**MUON, "muon_parameters": patterns}))


def test_muon_with_fsdp_is_refused():
    with pytest.raises(ConfigError, match="muon does not work with fsdp"):
        settings(**MUON, fsdp=True)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_muon_resumes_bit_by_bit(tmp_path, precision):
    changes = {
        **MUON,
        "precision": precision,
        "duration": "8 steps",
        "checkpoint_every": "3 steps",
        "warmup": 0.25,
        "batches": ToyBatches(microbatch_size=3),
    }
    whole, _ = train(tmp_path / "whole", **changes)
    for step in (2, 5):
        with pytest.raises(KilledError):
            train(tmp_path / "resumed", callbacks=[killer("step", step)], **changes)
    model, _ = train(tmp_path / "resumed", **changes)
    assert losses(tmp_path / "resumed") == losses(tmp_path / "whole")
    assert torch.equal(weights(model), weights(whole))
