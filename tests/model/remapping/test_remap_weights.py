from typing import get_args

import pytest
import torch

from litebert.errors import ConfigError
from litebert.model.config import Projection, Sharing
from litebert.model.models import ForPretraining
from litebert.model.remapping.remap_weights import remap_weights
from support.models.model_builders import MODERN, perturbed
from support.models.tolerances import tolerance

POSITIONS = torch.arange(5)


def remapped(model, target):
    """A model of the target architecture with the remapped weights, and the names of those that were not."""
    result = ForPretraining(target, seed=9).to(next(model.parameters()).dtype)
    parameters = remap_weights(model.state_dict(), source=model.config, target=target)
    fresh = result.load_state_dict(parameters, strict=False)
    assert not fresh.unexpected_keys
    return result, fresh.missing_keys


def outputs(model, batch):
    output = model(*batch.arguments, POSITIONS)
    return torch.cat([output.mlm_logits.flatten(), output.sentence_pair_logits.flatten()])


@pytest.mark.parametrize("sharing", get_args(Sharing))
@pytest.mark.parametrize("inner", [1, 2])
def test_remap_to_unshared_layers_keeps_the_function_exactly(tiny_config, batch, sharing, inner):
    model = ForPretraining(tiny_config.replace(sharing=sharing, inner_group_num=inner))
    unshared, fresh = remapped(model, model.config.replace(sharing="none"))
    assert not fresh
    assert torch.equal(outputs(unshared, batch), outputs(model, batch))


def test_remap_to_shared_layers_inverts_unsharing(tiny_config, batch):
    model = ForPretraining(tiny_config).double()
    unshared, _ = remapped(model, tiny_config.replace(sharing="none"))
    shared, _ = remapped(unshared, tiny_config)
    assert torch.allclose(outputs(shared, batch), outputs(model, batch), atol=tolerance(torch.float64, "model"))


def test_remap_to_groups_averages_their_layers(tiny_config):
    model = ForPretraining(tiny_config.replace(sharing="none"))
    shared = remap_weights(model.state_dict(), source=model.config, target=tiny_config.replace(num_hidden_groups=2))
    weights = [attention.query.weight for attention in model.encoder.attentions]
    for group, members in enumerate((weights[:2], weights[2:])):
        expected = torch.stack(list(members)).mean(0)
        assert torch.allclose(shared[f"encoder.attentions.{group}.query.weight"], expected)


def test_remap_weights_the_mean_by_how_often_each_block_ran(tiny_config):
    """Three layers in two groups: the first group runs twice, the second once."""
    source = tiny_config.replace(num_hidden_layers=3, num_hidden_groups=2)
    model = ForPretraining(source)
    shared = remap_weights(model.state_dict(), source=source, target=source.replace(num_hidden_groups=1))
    first, second = model.encoder.attentions
    expected = (2 * first.query.weight + second.query.weight) / 3
    assert torch.allclose(shared["encoder.attentions.0.query.weight"], expected)


@pytest.mark.parametrize("layers", [1, 2, 8, 24])
def test_remap_of_a_shared_model_to_another_depth_keeps_the_block(tiny_config, layers):
    model = ForPretraining(tiny_config)
    parameters = remap_weights(
        model.state_dict(), source=tiny_config, target=tiny_config.replace(num_hidden_layers=layers)
    )
    assert all(torch.equal(parameters[name], tensor) for name, tensor in model.state_dict().items())


def test_remap_to_a_deeper_unshared_model_repeats_each_layer(tiny_config):
    source = tiny_config.replace(sharing="none")
    model = ForPretraining(source)
    parameters = remap_weights(model.state_dict(), source=source, target=source.replace(num_hidden_layers=8))
    for layer in range(8):
        expected = model.encoder.feed_forwards[layer // 2].up.weight
        assert torch.equal(parameters[f"encoder.feed_forwards.{layer}.up.weight"], expected)


def wide_model(tiny_config, *, rank, projection="if_needed"):
    """A BERT-like model with embedding tables of rank `rank`."""
    config = tiny_config.replace(embedding_size=32, sharing="none", embedding_projection=projection)
    model = ForPretraining(config).double()
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(rank, 32, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for table in ("word", "position", "token_type"):
            weight = getattr(model.encoder.embeddings, table).weight
            weight.copy_(torch.randn(len(weight), rank, generator=generator, dtype=torch.float64) @ directions)
        model.encoder.embeddings.norm.weight.uniform_(0.5, 2, generator=generator)
        model.encoder.embeddings.norm.bias.uniform_(-1, 1, generator=generator)
    return model


@pytest.mark.parametrize("projection", get_args(Projection))
def test_remap_to_factorized_embeddings_is_exact_at_low_rank(tiny_config, batch, projection):
    model = wide_model(tiny_config, rank=15, projection=projection)
    small, fresh = remapped(model, model.config.replace(embedding_size=16))
    states = (one.encoder(*batch.arguments).last_hidden_state for one in (small, model))
    assert torch.allclose(*states, atol=tolerance(torch.float64, "compound"))
    assert fresh == [name for name in small.state_dict() if name.startswith(("mlm.dense.", "mlm.norm."))]


def test_remap_to_factorized_embeddings_improves_with_their_size(tiny_config, batch):
    model = wide_model(tiny_config, rank=32)
    expected = model.encoder(*batch.arguments, output_hidden_states=True).hidden_states[0]

    def error(width):
        small, _ = remapped(model, model.config.replace(embedding_size=width))
        return (small.encoder(*batch.arguments, output_hidden_states=True).hidden_states[0] - expected).norm()

    assert error(8) > error(16) > error(31)


def test_factorized_embeddings_keep_the_vectors_of_the_two_segments(tiny_config):
    """A token has a row of every table, so that one of two rows counts as much as that of the words."""
    model = wide_model(tiny_config, rank=32)
    target = model.config.replace(embedding_size=8)
    small = remap_weights(model.state_dict(), source=model.config, target=target)
    old, new = (weights["encoder.embeddings.token_type.weight"] for weights in (model.state_dict(), small))
    assert new.square().sum() > 0.9 * (old - old.mean(1, keepdim=True)).square().sum()


def test_remap_of_bert_to_albert(tiny_config, batch):
    small, _ = remapped(wide_model(tiny_config, rank=32), tiny_config)
    assert outputs(small, batch).isfinite().all()
    assert len(small.encoder.attentions) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"intermediate_size": 40}, "intermediate_size: the trained model has 48, the new one 40.*set 48 or more"),
        ({"hidden_size": 64}, "hidden_size: the trained model has 32, the new one 64"),
        ({"embedding_size": 8}, "only embeddings of width hidden_size"),
        ({"embedding_size": 32}, "only embeddings of width hidden_size"),
    ],
)
def test_remap_refuses_fields_that_cannot_change(tiny_config, change, message):
    model = ForPretraining(tiny_config)
    with pytest.raises(ConfigError, match=message):
        remap_weights(model.state_dict(), source=tiny_config, target=tiny_config.replace(**change))


def test_remap_refuses_to_add_a_projection(tiny_config):
    source = tiny_config.replace(embedding_size=32)
    with pytest.raises(ConfigError, match="only one of the two models has the projection"):
        remap_weights({}, source=source, target=source.replace(embedding_projection="always"))


def test_remap_to_the_same_architecture_returns_the_same_tensors(tiny_config):
    tensors = ForPretraining(tiny_config).state_dict()
    kept = remap_weights(tensors, source=tiny_config, target=tiny_config.replace(hidden_dropout_prob=0.5))
    assert all(kept[name] is tensor for name, tensor in tensors.items())


def test_modern_block_keeps_its_function_when_weights_are_remapped_to_the_same_depth(tiny_config, batch):
    config = tiny_config.replace(**MODERN)
    model = perturbed(ForPretraining(config))
    grouped, fresh = remapped(model, config.replace(num_hidden_groups=2))
    assert not fresh
    assert torch.equal(outputs(grouped, batch), outputs(model, batch))


def test_recursion_lora_of_a_deeper_model_is_that_of_the_same_relative_depth(tiny_config):
    config = tiny_config.replace(**MODERN)
    model = perturbed(ForPretraining(config))
    deeper, fresh = remapped(model, config.replace(num_hidden_layers=8))
    assert not fresh
    for step, updates in enumerate(deeper.encoder.recursion_lora):
        assert torch.equal(updates["query"].a, model.encoder.recursion_lora[step // 2]["query"].a)


def test_recursion_lora_cannot_be_unshared(tiny_config):
    with pytest.raises(ConfigError, match="needs blocks that several layers share"):
        tiny_config.replace(**MODERN).replace(sharing="none")


@pytest.mark.parametrize("field", MODERN)
def test_remapping_to_another_kind_of_block_is_refused(tiny_config, field):
    model = ForPretraining(tiny_config)
    with pytest.raises(ConfigError, match=f"{field}: the trained model has"):
        remap_weights(model.state_dict(), source=tiny_config, target=tiny_config.replace(**{field: MODERN[field]}))


def test_rotary_model_takes_longer_sequences(tiny_config, batch):
    config = tiny_config.replace(position_embedding="rotary")
    longer, fresh = remapped(ForPretraining(config), config.replace(max_position_embeddings=64))
    assert not fresh
    assert torch.equal(outputs(longer, batch), outputs(ForPretraining(config), batch))
