import pytest
import torch

from litebert.model.models import ForPretraining
from litebert.model.remapping.remap_weights import remap_weights
from litebert.model.remapping.widen_feed_forwards import widen_feed_forwards
from support.models.model_builders import MODERN, perturbed
from support.models.tolerances import tolerance

POSITIONS = torch.arange(5)
WIDER = 80
"""The models of these tests have feed-forward layers of 48."""


def widened(model, seed=0, **changes):
    """A model with wider feed-forward layers and the remapped weights of `model`."""
    target = model.config.replace(intermediate_size=WIDER, **changes)
    result = ForPretraining(target, seed=9).to(next(model.parameters()).dtype)
    result.load_state_dict(remap_weights(model.state_dict(), source=model.config, target=target, seed=seed))
    return result


def outputs(model, batch):
    output = model(*batch.arguments, POSITIONS)
    return torch.cat([output.mlm_logits.flatten(), output.sentence_pair_logits.flatten()])


@pytest.mark.parametrize(
    "block",
    [{}, MODERN, {"gated_feed_forward": True}, {"sharing": "none"}, {"num_hidden_groups": 2, "use_bias": False}],
    ids=["albert", "modern", "gated", "unshared", "groups"],
)
def test_wider_feed_forward_layers_keep_the_function(tiny_config, batch, block):
    model = perturbed(ForPretraining(tiny_config.replace(**block)).double())
    assert torch.allclose(outputs(widened(model), batch), outputs(model, batch), atol=tolerance(torch.float64, "model"))


@pytest.mark.parametrize("changes", [{"sharing": "none"}, {"num_hidden_groups": 4}])
def test_layers_can_be_widened_and_unshared_at_once(tiny_config, batch, changes):
    model = perturbed(ForPretraining(tiny_config).double())
    wider = widened(model, **changes)
    assert torch.allclose(outputs(wider, batch), outputs(model, batch), atol=tolerance(torch.float64, "model"))
    assert len(wider.encoder.feed_forwards) == tiny_config.num_hidden_layers


def test_old_units_come_first_and_new_ones_read_at_random_and_write_zeros(tiny_config):
    model = perturbed(ForPretraining(tiny_config.replace(gated_feed_forward=True)))
    old, new = model.encoder.feed_forwards[0], widened(model).encoder.feed_forwards[0]
    size = tiny_config.intermediate_size
    for part in ("up", "gate"):
        assert torch.equal(getattr(new, part).weight[:size], getattr(old, part).weight)
        assert torch.equal(getattr(new, part).bias[:size], getattr(old, part).bias)
        assert getattr(new, part).bias[size:].eq(0).all()
        fresh = getattr(new, part).weight[size:]
        assert fresh.abs().max() <= 2 * tiny_config.initializer_range
        assert fresh.unique().numel() > 0.9 * fresh.numel()
    assert not torch.equal(new.up.weight[size:], new.gate.weight[size:])
    assert torch.equal(new.down.weight[:, :size], old.down.weight)
    assert new.down.weight[:, size:].eq(0).all()


def test_new_units_are_trained(tiny_config, batch):
    """Their output weights have a gradient in the first step, their input weights in the second."""
    model = widened(perturbed(ForPretraining(tiny_config)))
    layer, size = model.encoder.feed_forwards[0], tiny_config.intermediate_size
    outputs(model, batch).square().sum().backward()
    assert layer.down.weight.grad[:, size:].abs().min() > 0
    assert layer.up.weight.grad[size:].eq(0).all()
    with torch.no_grad():
        layer.down.weight -= 0.01 * layer.down.weight.grad.sign()
    model.zero_grad()
    outputs(model, batch).square().sum().backward()
    assert layer.up.weight.grad[size:].abs().min() > 0


def test_new_units_have_the_precision_of_the_old_ones(tiny_config):
    parameters = ForPretraining(tiny_config).bfloat16().state_dict()
    wider = widen_feed_forwards(parameters, WIDER, scale=0.02, seed=0)
    assert {tensor.dtype for tensor in wider.values()} == {torch.bfloat16}


def test_new_units_depend_on_the_seed(tiny_config):
    model = perturbed(ForPretraining(tiny_config))
    first, again, other = (widened(model, seed=seed).encoder.feed_forwards[0].up.weight for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_only_tensors_of_the_feed_forward_layers_change(tiny_config):
    parameters = ForPretraining(tiny_config.replace(**MODERN)).state_dict()
    wider = widen_feed_forwards(parameters, WIDER, scale=0.02, seed=0)
    blocks = {name.rsplit(".", 2)[0] for name in wider if ".recursion_lora." not in name}
    assert blocks == {"encoder.feed_forwards.0"}
    updates = {name.split(".")[3] for name in wider if ".recursion_lora." in name}
    assert updates == {"up", "gate", "down"}
