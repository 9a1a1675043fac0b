"""LoRA: identity at initialization, equal merged and unmerged, per stored block or per layer."""

import json
from typing import get_args

import pytest
import torch

from litebert.errors import CheckpointError, ConfigError
from litebert.model.config import Sharing
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import CONFIG
from litebert.model.io.weight_files import SAFETENSORS, read_safetensors
from litebert.model.layers.lora import LoRALinear, attach, can_be_merged, is_adapter, merged
from litebert.model.layers.lora_settings import Adaptable, LoRASettings
from litebert.model.model_stats import parameter_counts
from litebert.model.models import ForSequenceClassification
from support.models.model_builders import MODERN, perturbed
from support.models.tolerances import tolerance

ALL = tuple(name for name in get_args(Adaptable) if name != "gate")
VARIANTS = [{}, {"sharing": "none"}, {"sharing": "attention"}, {"num_hidden_groups": 2}, {"inner_group_num": 2}]


def settings(**changes):
    return LoRASettings.parse({"rank": 3, "alpha": 6.0, "projections": ALL, **changes}, where="test")


def adapted(config, *, trained=True, **changes):
    """A classifier with adapters; `trained` ones are not zero."""
    model = ForSequenceClassification(config, num_labels=3).eval()
    attach(model, settings(**changes))
    if trained:
        generator = torch.Generator().manual_seed(1)
        for name, parameter in model.named_parameters():
            if name.endswith(".lora_b"):
                parameter.data = torch.randn(parameter.shape, generator=generator) * 0.1
    return model


def logits(model, batch):
    with torch.inference_mode():
        return model(*batch.arguments).logits


@pytest.mark.parametrize("per_layer", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_lora_untrained_changes_nothing(tiny_config, batch, variant, per_layer):
    config = tiny_config.replace(**variant)
    plain = ForSequenceClassification(config, num_labels=3).eval()
    assert torch.equal(logits(adapted(config, trained=False, per_layer=per_layer), batch), logits(plain, batch))


def test_lora_weight_is_the_dense_weight_plus_alpha_over_rank_times_b_a():
    layer = LoRALinear(torch.nn.Linear(5, 4), settings(rank=3, alpha=6.0))
    torch.nn.init.normal_(layer.lora_a)
    torch.nn.init.normal_(layer.lora_b)
    x = torch.randn(2, 5)
    expected = layer.dense(x) + 6.0 / 3 * x @ layer.lora_a.T @ layer.lora_b.T
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("kernel", ["sdpa", "unpadded"])
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_lora_merged_gives_the_same_outputs(tiny_config, batch, variant, bf16, kernel):
    model = adapted(tiny_config.replace(**variant))
    merged_model = merged(model)
    assert not any(isinstance(module, LoRALinear) for module in merged_model.modules())
    for each in (model, merged_model):
        each.encoder.attention_kernel = kernel
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        assert torch.equal(logits(model, batch), logits(merged_model, batch))
    plain = ForSequenceClassification(tiny_config.replace(**variant), num_labels=3).eval()
    assert not torch.allclose(logits(model, batch), logits(plain, batch), atol=1e-3)


@pytest.mark.parametrize("projection", ALL)
def test_lora_applies_to_every_projection(tiny_config, projection):
    model = adapted(tiny_config, projections=(projection,))
    names = [name for name, _ in model.named_parameters() if is_adapter(name)]
    assert len(names) == 2
    assert all(f".{projection}." in name for name in names)


def test_lora_per_layer_keeps_the_block_shared(tiny_config):
    plain = ForSequenceClassification(tiny_config, num_labels=3)
    size = sum(parameter.numel() for parameter in plain.parameters())
    one, each = adapted(tiny_config), adapted(tiny_config, per_layer=True)
    counts = [sum(p.numel() for n, p in model.named_parameters() if is_adapter(n)) for model in (one, each)]
    assert counts[0] == 3 * (4 * (32 + 32) + 2 * (32 + 48))
    assert counts[1] == 4 * counts[0]
    assert sum(parameter.numel() for parameter in each.parameters()) == size + counts[1]


@pytest.mark.parametrize("per_layer", [False, True])
@pytest.mark.parametrize("projections", [ALL, ("query", "down")])
@pytest.mark.parametrize("variant", [*VARIANTS, {"sharing": "feed_forward"}], ids=str)
def test_lora_parameters_equal_the_formula(tiny_config, variant, projections, per_layer):
    config, chosen = tiny_config.replace(**variant), {"projections": projections, "per_layer": per_layer}
    model = adapted(config, trained=False, **chosen)
    formula = parameter_counts(config, settings(**chosen)).adapters
    assert sum(parameter.numel() for name, parameter in model.named_parameters() if is_adapter(name)) == formula


def test_lora_per_layer_equals_a_model_without_sharing(tiny_config, batch):
    model = adapted(tiny_config, per_layer=True)
    unshared = ForSequenceClassification(tiny_config.replace(sharing="none"), num_labels=3).eval()
    weights = dict(model.state_dict())
    for path, module in model.named_modules():
        if isinstance(module, LoRALinear):
            weights |= {f"{path}.weight": module.weight, f"{path}.bias": module.bias}
    unshared.load_state_dict({name: weights[name] for name in unshared.state_dict()})
    assert torch.equal(logits(model, batch), logits(unshared, batch))


def test_lora_gradients_reach_every_adapter(tiny_config, batch):
    model = adapted(tiny_config, per_layer=True)
    model(*batch.arguments).logits.square().sum().backward()
    assert all(parameter.grad.norm() > 0 for name, parameter in model.named_parameters() if is_adapter(name))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_lora_is_saved_merged(tiny_config, batch, tmp_path, variant):
    model = adapted(tiny_config.replace(**variant), per_layer=variant == {"sharing": "none"})
    again = load_model(save_model(model, tmp_path / "model"))
    assert again.encoder.adapters is None
    assert torch.equal(logits(again, batch), logits(model, batch))
    assert model.encoder.adapters is not None, "the model in training stays as it is"


def test_lora_merged_weights_load_in_transformers(tiny_config, batch, tmp_path):
    transformers = pytest.importorskip("transformers")
    model = adapted(tiny_config)
    directory = save_model(model, tmp_path / "model")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(directory).eval()
    with torch.inference_mode():
        assert torch.allclose(theirs(*batch.arguments).logits, logits(model, batch), atol=tolerance())


@pytest.mark.parametrize("variant", [{}, {"num_hidden_groups": 2}, {"sharing": "attention"}], ids=str)
def test_lora_per_layer_is_saved_beside_the_shared_weights(tiny_config, batch, tmp_path, variant):
    model = adapted(tiny_config.replace(**variant), per_layer=True)
    assert not can_be_merged(model)
    directory = save_model(model, tmp_path / "model")
    assert '"model_type": "litebert"' in (directory / CONFIG).read_text()
    saved = read_safetensors(directory / SAFETENSORS)
    blocks = {name.split(".")[2] for name in saved if name.startswith("encoder.attentions.")}
    assert len(blocks) == model.config.num_hidden_groups, "each shared block once"
    assert len({name.split(".")[2] for name in saved if name.startswith("encoder.adapters.")}) == 4
    again = load_model(directory)
    assert again.encoder.adapters == model.encoder.adapters
    assert torch.equal(logits(again, batch), logits(model, batch))
    sizes = [sum(parameter.numel() for parameter in each.parameters()) for each in (model, again)]
    assert sizes[0] == sizes[1], "blocks that are one in memory are one again"
    assert load_model(directory, labels=("a", "b"), fresh=("classifier",)).encoder.adapters == again.encoder.adapters


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"adapters": None}, "has per-layer adapters, but config.json says none"), ({"num_hidden_layers": 6}, "lacks")],
)
def test_lora_per_layer_needs_the_config_that_it_was_saved_with(tiny_config, tmp_path, changes, message):
    directory = save_model(adapted(tiny_config.replace(sharing="attention"), per_layer=True), tmp_path / "model")
    config = json.loads((directory / CONFIG).read_text())
    (directory / CONFIG).write_text(json.dumps(config | changes))
    (directory / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match=message):
        load_model(directory)


def test_lora_per_layer_forbids_another_depth(tiny_config, tmp_path):
    directory = save_model(adapted(tiny_config, per_layer=True), tmp_path / "model")
    with pytest.raises(ConfigError, match="a model with per-layer adapters cannot change"):
        load_model(directory, changes={"num_hidden_layers": 6})


def test_lora_is_attached_once(tiny_config):
    with pytest.raises(ConfigError, match="the model already has adapters"):
        attach(adapted(tiny_config), settings())


def test_lora_initialization_depends_on_the_seed_only(tiny_config):
    first, second = (dict(adapted(tiny_config).named_parameters()) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_lora_merge_of_a_model_without_adapters_returns_it(tiny_config):
    model = ForSequenceClassification(tiny_config, num_labels=2)
    assert merged(model) is model


@pytest.mark.parametrize("sharing", get_args(Sharing))
def test_lora_per_layer_supports_every_sharing(tiny_config, batch, sharing):
    model = adapted(tiny_config.replace(sharing=sharing), per_layer=True)
    assert len(model.encoder.attentions) == len(model.encoder.feed_forwards) == 4
    assert can_be_merged(model) == (sharing == "none")
    assert logits(model, batch).isfinite().all()


@pytest.mark.parametrize("per_layer", [False, True])
def test_lora_adapters_of_the_modern_block_are_saved_and_loaded(tiny_config, batch, tmp_path, per_layer):
    config = tiny_config.replace(**MODERN)
    model = perturbed(adapted(config, per_layer=per_layer, projections=get_args(Adaptable)))
    expected = logits(model, batch)
    formula = parameter_counts(config, model.encoder.adapters).adapters
    assert sum(p.numel() for name, p in model.named_parameters() if is_adapter(name)) == formula
    loaded = load_model(save_model(model, tmp_path / "model"))
    assert (loaded.encoder.adapters is None) == (not per_layer)
    assert torch.equal(logits(loaded, batch), expected)


def test_lora_adapter_of_a_gate_that_does_not_exist_is_refused(tiny_config):
    with pytest.raises(ConfigError, match="'gate' is a layer of gated_feed_forward only"):
        adapted(tiny_config, projections=("gate",))
