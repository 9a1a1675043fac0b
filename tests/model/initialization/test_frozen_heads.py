"""Frozen heads: the gradient mask, alone, with accumulation, recomputed activations and FSDP."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from litebert.model.config import ModelConfig
from litebert.model.initialization.frozen_heads import freeze_heads
from litebert.model.models import ForPretraining
from support.models.model_builders import TokenBatch


def gradients(model: ForPretraining, batch: TokenBatch, *, passes: int = 1) -> dict[str, Tensor]:
    """Output and accumulated gradients, by name."""
    result = {}
    for _ in range(passes):
        output = model(*batch.arguments, torch.tensor([0, 3]))
        (output.mlm_logits.square().sum() + output.sentence_pair_logits.square().sum()).backward()
        result["output"] = output.mlm_logits.detach()
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        assert grad is not None
        result[name] = grad.full_tensor() if isinstance(grad, DTensor) else grad
    return result


def assert_last_heads_frozen(found: dict[str, Tensor], expected: dict[str, Tensor], *, trained_rows: int) -> None:
    for name, tensor in expected.items():
        if ".query." in name or ".key." in name:
            tensor = tensor.clone()
            tensor[trained_rows:] = 0
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=0, msg=name)


@pytest.mark.parametrize("sharing", ["all", "none"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_frozen_heads_have_no_gradient_and_change_no_other(tiny_config, batch, sharing, count):
    config = tiny_config.replace(sharing=sharing)
    model = ForPretraining(config)
    freeze_heads(model, count)
    expected = gradients(ForPretraining(config), batch)
    assert_last_heads_frozen(gradients(model, batch), expected, trained_rows=32 - 8 * count)


@pytest.mark.parametrize("interval", [None, 2])
def test_frozen_heads_stay_frozen_over_several_backward_passes(tiny_config, batch, interval):
    models = [ForPretraining(tiny_config) for _ in range(2)]
    for model in models:
        model.encoder.activation_checkpoint_interval = interval
    freeze_heads(models[0], 2)
    found, expected = (gradients(model, batch, passes=3) for model in models)
    assert_last_heads_frozen(found, expected, trained_rows=16)


def test_frozen_heads_stay_frozen_after_a_move_and_a_loaded_state(tiny_config, batch):
    model, other = ForPretraining(tiny_config), ForPretraining(tiny_config, seed=1)
    freeze_heads(model, 2)
    gradients(model, batch)
    model.zero_grad()
    model.double().load_state_dict(other.double().state_dict())
    assert_last_heads_frozen(gradients(model, batch), gradients(other, batch), trained_rows=16)


def test_frozen_heads_ignore_parameters_that_are_not_trained(tiny_config, batch):
    model = ForPretraining(tiny_config)
    freeze_heads(model, 2)
    model.encoder.requires_grad_(False)
    model(*batch.arguments, torch.tensor([0])).mlm_logits.sum().backward()
    assert all(parameter.grad is None for parameter in model.encoder.parameters())


@pytest.fixture
def process_group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_frozen_heads_stay_frozen_where_fsdp_replaces_the_parameters(tiny_config: ModelConfig, batch):
    model = ForPretraining(tiny_config)
    freeze_heads(model, 2)
    fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)), reshard_after_forward=False)
    found = gradients(model, batch, passes=2)
    assert_last_heads_frozen(found, gradients(ForPretraining(tiny_config), batch, passes=2), trained_rows=16)


def test_frozen_heads_of_a_block_without_biases(tiny_config, batch):
    config = tiny_config.replace(use_bias=False, norm_first=True)
    frozen, plain = ForPretraining(config), ForPretraining(config)
    freeze_heads(frozen, 1)
    assert_last_heads_frozen(gradients(frozen, batch), gradients(plain, batch), trained_rows=24)
