import pytest

from litebert.errors import ConfigError
from litebert.model.presets import PRESETS, preset

RELEASED = {"base": (12, 768, 12), "large": (24, 1024, 16), "xlarge": (24, 2048, 16), "xxlarge": (12, 4096, 64)}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("size", RELEASED)
def test_presets_of_released_english_models_have_their_sizes(size, version):
    config = preset(f"albert-{size}-{version}")
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == RELEASED[size]
    assert (config.embedding_size, config.vocab_size, config.hidden_act) == (128, 30_000, "gelu_new")


@pytest.mark.parametrize("name", [name for name in PRESETS if name.endswith(("v1", "v2"))])
def test_presets_with_dropout_are_the_first_three_of_v1(name):
    config = preset(name)
    expected = 0.1 if name in ("albert-base-v1", "albert-large-v1", "albert-xlarge-v1") else 0.0
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (expected, expected)


@pytest.mark.parametrize("name", [name for name in PRESETS if "chinese" in name])
def test_presets_of_chinese_models_have_their_vocabulary_and_activation(name):
    assert (preset(name).vocab_size, preset(name).hidden_act) == (21_128, "relu")


@pytest.mark.parametrize(("name", "layers"), [("bert-base", 12), ("bert-large", 24)])
def test_presets_of_bert_have_no_sharing_and_no_factorization(name, layers):
    config = preset(name)
    assert (config.sharing, config.num_hidden_layers) == ("none", layers)
    assert config.embedding_size == config.hidden_size


def test_presets_of_the_paper_have_heads_of_64():
    for name in PRESETS:
        if name.startswith(("paper", "bert")):
            assert preset(name).head_size == 64


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_source_and_an_inner_width_of_four_hidden_sizes(name):
    """A gated feed-forward has three matrices instead of two, so two thirds of that width."""
    row = PRESETS[name]
    assert row.source
    if row.config.gated_feed_forward:
        assert row.config.intermediate_size == pytest.approx(4 * row.config.hidden_size * 2 / 3, rel=0.02)
    else:
        assert row.config.intermediate_size == 4 * row.config.hidden_size


def test_modern_presets_have_the_modern_block():
    for name in ("modern-tiny", "modern-small"):
        assert preset(name).non_albert_fields == (
            *("position_embedding", "norm_first", "gated_feed_forward", "use_bias"),
        )
        assert "not the paper" in PRESETS[name].source


@pytest.mark.parametrize("name", [name for name in PRESETS if not name.startswith("modern")])
def test_presets_of_the_paper_and_of_releases_have_the_block_of_albert(name):
    assert preset(name).non_albert_fields == ()


@pytest.mark.parametrize(
    ("name", "hint"), [("albert-base-v3", "albert-base-v"), ("gpt", "expected one of albert-base-v1,")]
)
def test_presets_refuse_unknown_names_with_a_suggestion(name, hint):
    with pytest.raises(ConfigError, match=hint):
        preset(name)
