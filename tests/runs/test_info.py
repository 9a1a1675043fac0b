"""The figures of an architecture without its weights."""

import pytest

from litebert.errors import CheckpointError, ConfigError
from litebert.model.config import ModelConfig
from litebert.model.directory import save_model
from litebert.model.models import ForMaskedLM
from litebert.model.presets import PRESETS
from litebert.runs.info import info


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_figures(name):
    found = info(name)
    assert found.source == PRESETS[name].source
    assert found.to_dict()["parameters"]["encoder"] == found.parameters.encoder > 0
    assert f"{found.parameters.encoder_and_pooler:,} with pooler" in found.to_text()


def test_a_directory_or_its_config_has_the_figures_of_its_model(tmp_path):
    sizes = {"embedding_size": 8, "hidden_size": 8, "intermediate_size": 16}
    config = ModelConfig(vocab_size=30, num_hidden_layers=2, num_attention_heads=2, **sizes)
    model = ForMaskedLM(config)
    save_model(model, tmp_path / "m")
    found = info(str(tmp_path / "m"))
    assert found.config == config
    assert found.parameters == info(str(tmp_path / "m" / "config.json")).parameters


def test_memory_grows_with_the_batch_and_not_the_weights():
    small, large = info("tiny", batch_size=1), info("tiny", batch_size=8)
    assert large.memory.activations > small.memory.activations
    assert large.parameters == small.parameters
    assert info("tiny", length=128).flops.forward < info("tiny", length=512).flops.forward


@pytest.mark.parametrize("size", [{"length": 0}, {"batch_size": 0}])
def test_nothing_has_no_figures(size):
    with pytest.raises(ConfigError, match="at least 1"):
        info("tiny", **size)


def test_an_unknown_preset_is_told_the_known_ones():
    with pytest.raises(ConfigError, match="tiny"):
        info("tinny")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "config.json: missing"), ("{", "not JSON"), ("[]", "holds list"), ("\udcff", "not JSON")],
)
def test_a_directory_without_a_readable_config_is_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "config.json").write_text(content, errors="surrogateescape")
    with pytest.raises(CheckpointError, match=message):
        info(str(tmp_path))
