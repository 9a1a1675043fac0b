"""Parameter groups: frozen parts, and the depth of each parameter."""

from typing import get_args

import pytest

from litebert.model.layers.lora import attach, is_adapter
from litebert.model.layers.lora_settings import Freeze, LoRASettings
from litebert.model.models import ForSequenceClassification
from litebert.model.param_groups import count_parameters, freeze, layer_depths
from support.models.model_builders import MODERN

TRAINED = {
    "nothing": {"embeddings", "projection", "attentions", "feed_forwards", "pooler", "classifier"},
    "embeddings": {"attentions", "feed_forwards", "pooler", "classifier"},
    "all_but_pooler": {"pooler", "classifier"},
    "encoder": {"classifier"},
}


def part(name):
    return name.removeprefix("encoder.").split(".")[0]


@pytest.mark.parametrize("parts", get_args(Freeze))
def test_freeze_excludes_the_parts_from_training(tiny_config, parts):
    model = ForSequenceClassification(tiny_config, num_labels=2)
    freeze(model, parts)
    assert {part(name) for name, parameter in model.named_parameters() if parameter.requires_grad} == TRAINED[parts]


def test_freeze_never_freezes_adapters(tiny_config):
    model = ForSequenceClassification(tiny_config, num_labels=2)
    attach(model, LoRASettings(rank=2))
    freeze(model, "encoder")
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trained == {name for name, _ in model.named_parameters() if is_adapter(name) or "classifier" in name}
    assert count_parameters(model)[0] == 2 * 2 * (32 + 32) + 2 * 33


def distances(config):
    """Depth by part, or by stored block."""
    found = {}
    for name, distance in layer_depths(ForSequenceClassification(config, num_labels=2)).items():
        words = name.removeprefix("encoder.").split(".")
        key = ".".join(words[:2]) if words[0] in ("attentions", "feed_forwards") else words[0]
        assert found.setdefault(key, distance) == distance
    return found


def expected(attentions, feed_forwards, embeddings):
    blocks = {f"attentions.{n}": value for n, value in enumerate(attentions)}
    blocks |= {f"feed_forwards.{n}": value for n, value in enumerate(feed_forwards)}
    return {**blocks, "embeddings": embeddings, "projection": embeddings, "pooler": 0, "classifier": 0}


@pytest.mark.parametrize(
    ("variant", "attentions", "feed_forwards", "embeddings"),
    [
        ({}, [1], [1], 2),
        ({"sharing": "none"}, [4, 3, 2, 1], [4, 3, 2, 1], 5),
        ({"num_hidden_groups": 2}, [2, 1], [2, 1], 3),
        ({"inner_group_num": 2}, [1, 1], [1, 1], 2),
        ({"sharing": "attention"}, [1], [4, 3, 2, 1], 5),
        ({"sharing": "feed_forward"}, [4, 3, 2, 1], [1], 5),
    ],
    ids=str,
)
def test_layer_depths_follow_the_sharing(tiny_config, variant, attentions, feed_forwards, embeddings):
    assert distances(tiny_config.replace(**variant)) == expected(attentions, feed_forwards, embeddings)


def test_layer_depths_differ_between_per_layer_adapters(tiny_config):
    model = ForSequenceClassification(tiny_config, num_labels=2)
    attach(model, LoRASettings(rank=2, per_layer=True))
    depths = layer_depths(model)
    assert [depth for name, depth in depths.items() if name.endswith("query.lora_a")] == [4, 3, 2, 1]
    assert [depth for name, depth in depths.items() if name.endswith("query.dense.weight")] == [1]
    assert depths["encoder.embeddings.word.weight"] == 2


def test_layer_depths_of_the_modern_block(tiny_config):
    config = tiny_config.replace(**MODERN, num_hidden_groups=2)
    depths = layer_depths(ForSequenceClassification(config, num_labels=2))
    assert depths["encoder.final_norm.weight"] == 1
    assert depths["encoder.attentions.0.query.weight"] == depths["encoder.recursion_lora.1.query.a"] == 2
    assert depths["encoder.attentions.1.query.weight"] == depths["encoder.recursion_lora.2.query.a"] == 1


def test_freezing_blocks_freezes_final_norm_and_recursion_lora(tiny_config):
    model = ForSequenceClassification(tiny_config.replace(**MODERN), num_labels=2)
    freeze(model, "all_but_pooler")
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trained == {f"{part}.{kind}" for part in ("encoder.pooler", "classifier") for kind in ("weight", "bias")}
