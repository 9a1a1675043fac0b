"""`info`: costs of an architecture, without its weights."""

import re
import subprocess
import sys

import pytest

from litebert.commands.info import info
from litebert.errors import CheckpointError, ConfigError, LitebertError
from litebert.files import write_json
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import CONFIG, ModelSpec, to_json
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.models import ForMaskedLM
from litebert.model.presets import PRESETS, preset

SIZES = {"embedding_size": 8, "hidden_size": 8, "intermediate_size": 16}


@pytest.mark.parametrize("name", PRESETS)
def test_info_of_every_preset(name):
    found = info(name)
    assert found.source == PRESETS[name].source
    assert found.to_dict()["parameters"]["encoder"] == found.parameters.encoder > 0
    assert f"{found.parameters.encoder_and_pooler:,} with pooler" in found.to_text()


def test_info_of_a_directory_or_its_config(tmp_path):
    config = ModelConfig(vocab_size=30, num_hidden_layers=2, num_attention_heads=2, **SIZES)
    model = ForMaskedLM(config)
    save_model(model, tmp_path / "m")
    found = info(str(tmp_path / "m"))
    assert found.config == config
    assert found.parameters == info(str(tmp_path / "m" / "config.json")).parameters


def test_info_of_a_directory_imports_no_torch(tmp_path):
    write_json(tmp_path / CONFIG, to_json(ModelSpec(model="ForPretraining", config=preset("tiny"))))
    code = "import sys; from litebert.commands.info import info; info(sys.argv[1]); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_info_memory_grows_with_the_batch_not_with_the_weights():
    small, large = info("tiny", batch_size=1), info("tiny", batch_size=8)
    assert large.memory.activations > small.memory.activations
    assert large.parameters == small.parameters
    assert info("tiny", length=128).flops.forward < info("tiny", length=512).flops.forward


@pytest.mark.parametrize("size", ["length", "batch_size"])
def test_info_refuses_sizes_below_one(size):
    with pytest.raises(ConfigError, match=f"info: {size} 0, expected at least 1"):
        info("tiny", **{size: 0})


def test_info_counts_no_more_tokens_than_the_model_has_positions():
    assert info("tiny").length == 512
    short = info("tiny", ["max_position_embeddings=64"])
    assert short.flops == info("tiny", ["max_position_embeddings=64"], length=64).flops
    with pytest.raises(ConfigError, match="length 65, but tiny has 64 positions"):
        info("tiny", ["max_position_embeddings=64"], length=65)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("tinny", "did you mean 'tiny'?"),
        ("albert-base", "did you mean 'albert-base-v1' or 'albert-base-v2'?"),
        ("gpt", "expected one of albert-base-v1, "),
    ],
)
def test_info_suggests_presets(name, suggested):
    with pytest.raises(ConfigError, match=re.escape(suggested)):
        info(name)


@pytest.mark.parametrize("name", ["runs/typo", "./typo", "typo"])
def test_info_of_a_path_that_does_not_exist_says_so(name):
    with pytest.raises(LitebertError, match=f"^{re.escape(name)}: no such directory"):
        info(name)


@pytest.mark.parametrize("prefix", ["", "model."])
def test_info_applies_overrides(prefix):
    changes = [f"{prefix}sharing=none", f"{prefix}num_hidden_layers=3"]
    found = info("albert-base-v1", changes)
    assert found.config == preset("albert-base-v1").replace(sharing="none", num_hidden_layers=3)
    assert found.parameters.attention == 3 * info("albert-base-v1").parameters.attention
    assert "changed: " + " ".join(changes) in found.to_text()


def test_info_refuses_unknown_overrides_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"^info tiny: unknown setting 'layers'; did you mean 'num_hidden_layers'"):
        info("tiny", ["layers=3"])
    with pytest.raises(ConfigError, match=r"^info tiny: unknown setting 'hidden'; did you mean 'hidden_size' or"):
        info("tiny", ["model.hidden=3"])


def test_info_refuses_a_directory_without_a_config(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json: missing"):
        info(str(tmp_path))


@pytest.mark.parametrize(("per_layer", "copies"), [(False, 0), (True, 2)])
def test_info_counts_adapters_that_are_not_merged(tmp_path, per_layer, copies):
    """Per-layer adapters of a shared block are saved beside it; an adapter of the block itself is merged."""
    config = ModelConfig(vocab_size=30, num_hidden_layers=2, num_attention_heads=2, **SIZES)
    model = ForMaskedLM(config)
    attach(model, LoRASettings(rank=3, projections=("query", "up"), per_layer=per_layer))
    save_model(model, tmp_path / "m")
    counts = info(str(tmp_path / "m")).parameters
    assert counts.adapters == copies * 3 * ((8 + 8) + (8 + 16))
    stored = sum(parameter.numel() for parameter in load_model(tmp_path / "m").parameters())
    assert counts.encoder + counts.mlm == stored
    assert (f"adapters {counts.adapters}" in info(str(tmp_path / "m")).to_text()) is per_layer


def test_info_refuses_a_file_that_is_no_config(tmp_path):
    (tmp_path / "text.txt").write_text("words\n")
    with pytest.raises(ConfigError, match=r"text\.txt: is a file; give a preset"):
        info(str(tmp_path / "text.txt"))
