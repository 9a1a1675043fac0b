import pytest
import torch

from litebert.errors import ConfigError
from litebert.inference.inference_model import inference_model, resolve_precision
from litebert.model import matmul_speed
from litebert.model.models import ForSequenceClassification
from litebert.model.prepacked.prepack import has_operators, modules_and_parameters
from support.models.tolerances import within

needs_onednn = pytest.mark.skipif(not has_operators("fp32"), reason="torch without oneDNN")
IDS = torch.tensor([[2, 5, 6, 3]])
INPUTS = (IDS, torch.ones_like(IDS, dtype=torch.bool), torch.zeros_like(IDS))


@pytest.fixture
def model(config):
    return ForSequenceClassification(config, num_labels=3)


def test_auto_precision_is_the_fastest_measured_one(model, monkeypatch):
    speed = matmul_speed.MatmulSpeed({"fp32": 1.0, "bf16": 2.0})
    monkeypatch.setattr(matmul_speed, "measure_matmul_speed", lambda config, use: speed)
    assert resolve_precision("auto", model) == "bf16"
    assert resolve_precision("int8", model) == "int8"


def test_auto_precision_is_fp32_where_nothing_can_be_prepacked(model):
    assert resolve_precision("auto", model.double()) == "fp32"


@needs_onednn
def test_inference_model_is_prepacked_once_and_again_after_a_change(model):
    model.eval()
    with inference_model(model, "fp32") as first, inference_model(model, "fp32") as second:
        assert first is second
        before = first(*INPUTS).logits
    with torch.no_grad():
        model.encoder.feed_forwards[0].down.weight.mul_(-1)
    with inference_model(model, "fp32") as third:
        assert third is not first
        assert not torch.allclose(third(*INPUTS).logits, before)


@needs_onednn
def test_prepacked_weights_do_not_depend_on_the_autocast_of_the_caller(model):
    expected = model.eval()(*INPUTS).logits
    with torch.autocast("cpu", torch.bfloat16), inference_model(model, "fp32"):
        pass
    with inference_model(model, "fp32") as running:
        torch.testing.assert_close(running(*INPUTS).logits, expected.detach(), **within())


@needs_onednn
@pytest.mark.parametrize("mode", [True, False])
def test_inference_model_has_the_weights_after_each_step_of_a_fused_optimizer(model, mode):
    """Such a step leaves the version counters of the weights as they were."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    found = []
    for _ in range(2):
        model(*INPUTS).logits.square().sum().backward()
        optimizer.step()
        with inference_model(model.train(mode), "fp32") as running:
            found.append(running(*INPUTS).logits)
        expected = model.eval()(*INPUTS).logits
        torch.testing.assert_close(found[-1], expected.detach(), **within())
    assert not torch.allclose(found[0], found[1])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_inference_model_is_the_model_under_autocast_where_it_cannot_be_prepacked(model, precision):
    model.encoder.attention_kernel = "sdpa"
    with inference_model(model.train(), precision) as running:
        assert running is model
        assert not model.training
        assert torch.is_autocast_enabled("cpu") == (precision == "bf16")
    assert model.training


def test_int8_needs_a_model_that_can_be_prepacked(model):
    with pytest.raises(ConfigError, match="int8 needs"), inference_model(model.double(), "int8"):
        pass


@pytest.mark.parametrize("lengths", [[0, 0], [0, 3]])
def test_prepacked_model_accepts_rows_without_a_token(model, lengths):
    mask = torch.arange(4) < torch.tensor(lengths)[:, None]
    ids = torch.full(mask.shape, 5)
    with inference_model(model, "fp32") as running:
        assert running(ids, mask, torch.zeros_like(ids)).logits.isfinite().all()


def test_modules_that_were_in_training_are_again_and_no_others(model):
    """Also where the mode of a part is not that of the model."""
    model.train()
    model.encoder.eval()
    before = {name: module.training for name, module in model.named_modules()}
    with inference_model(model, "fp32"):
        assert not any(module.training for module in model.modules())
    assert {name: module.training for name, module in model.named_modules()} == before
    assert set(before.values()) == {False, True}


def test_modules_and_parameters_are_those_of_torch(model):
    model.again = model.encoder  # shared
    modules, parameters = modules_and_parameters(model)
    assert sorted(map(id, modules)) == sorted(map(id, model.modules()))
    assert sorted(map(id, parameters)) == sorted(map(id, model.parameters()))


@needs_onednn
@pytest.mark.parametrize("fused", [True, False])
def test_inference_model_has_the_weights_after_a_step_whose_gradients_are_gone(model, fused):
    model.eval()
    with inference_model(model, "fp32") as running:
        before = running(*INPUTS).logits
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=fused)
    model(*INPUTS).logits.square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    with inference_model(model, "fp32") as running:
        found = running(*INPUTS).logits
    torch.testing.assert_close(found, model(*INPUTS).logits.detach(), **within())
    assert not torch.allclose(found, before)
