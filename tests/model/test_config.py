import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.model.config import Activation, ModelConfig, Sharing

SIZES = {"hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 16}


@st.composite
def configs(draw) -> ModelConfig:
    heads, layers = draw(st.integers(1, 8)), draw(st.integers(1, 48))
    sharing = draw(st.sampled_from(get_args(Sharing)))
    groups = draw(st.sampled_from([1, layers]) if sharing == "none" else st.integers(1, layers))
    return ModelConfig(
        hidden_size=heads * draw(st.integers(1, 8)),
        num_attention_heads=heads,
        num_hidden_layers=layers,
        num_hidden_groups=groups,
        inner_group_num=draw(st.integers(1, 3)),
        intermediate_size=draw(st.integers(1, 64)),
        sharing=sharing,
        hidden_act=draw(st.sampled_from(get_args(Activation))),
        hidden_dropout_prob=draw(st.floats(0, 0.9)),
    )


@given(configs())
def test_model_config_round_trip_through_plain_values(config):
    assert ModelConfig.parse(config.to_dict(), where="test") == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_attention_heads": 3}, "hidden_size 8 is not divisible by num_attention_heads 3"),
        ({"num_hidden_groups": 5}, "num_hidden_groups 5 exceeds num_hidden_layers 4"),
        ({"sharing": "none", "num_hidden_groups": 2}, "contradicts"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"num_hidden_layers": 10**14}, "num_hidden_layers: must be less than or equal to 1000"),
        ({"inner_group_num": 10**14}, "inner_group_num: must be less than or equal to 1000"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob"),
        ({"hidden_act": "gelu_fast"}, "hidden_act"),
        ({"hidden_sise": 8}, "did you mean 'hidden_size'?"),
    ],
)
def test_model_config_is_validated(change, message):
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        ModelConfig.parse({**SIZES, **change}, where="config.json")


@pytest.mark.parametrize("groups", [1, 4])
def test_model_config_without_sharing_allows_one_group_or_one_per_layer(groups):
    assert ModelConfig(**SIZES, sharing="none", num_hidden_groups=groups).num_hidden_groups == groups


def test_model_config_sizes_have_no_default():
    with pytest.raises(ConfigError, match="intermediate_size"):
        ModelConfig(**{name: size for name, size in SIZES.items() if name != "intermediate_size"})


def test_model_config_head_size_divides_the_hidden_size():
    config = ModelConfig(**SIZES)
    assert config.head_size * config.num_attention_heads == config.hidden_size


def test_model_config_presets_and_stats_import_no_torch():
    code = "import litebert.model.model_stats, litebert.model.presets, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
