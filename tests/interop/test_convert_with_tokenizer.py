"""`convert` and the tokenizer: the given one, else the source's, else none."""

import pytest

from litebert.errors import CheckpointError, ConfigError, DataError
from litebert.interop.convert_weights import convert
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM
from litebert.tokenization.tokenizer import Tokenizer


@pytest.fixture
def model(tiny_tokenizer):
    sizes = {"embedding_size": 8, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    return ForMaskedLM(ModelConfig(vocab_size=tiny_tokenizer.vocab_size, num_hidden_layers=2, **sizes))


@pytest.mark.parametrize("to", ["litebert", "transformers", "tensorflow"])
def test_convert_keeps_the_tokenizer_of_the_source(model, tiny_tokenizer, tmp_path, to):
    save_model(model, tmp_path / "m", extra_files=tiny_tokenizer.files())
    convert(str(tmp_path / "m"), tmp_path / "t", to=to)
    assert Tokenizer.load(tmp_path / "t").fingerprint == tiny_tokenizer.fingerprint


@pytest.mark.parametrize("place", ["", "/model.ckpt-best", "/model.ckpt-best.index"])
def test_convert_finds_the_tokenizer_beside_a_tensorflow_checkpoint(model, tiny_tokenizer, tmp_path, place):
    save_model(model, tmp_path / "m", extra_files=tiny_tokenizer.files())
    convert(str(tmp_path / "m"), tmp_path / "t", to="tensorflow")
    convert(f"{tmp_path / 't'}{place}", tmp_path / "back", to="transformers")
    assert Tokenizer.load(tmp_path / "back").fingerprint == tiny_tokenizer.fingerprint


def test_convert_writes_the_given_tokenizer_or_none(model, tiny_tokenizer, tmp_path):
    save_model(model, tmp_path / "m")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    convert(str(tmp_path / "m"), tmp_path / "with", to="litebert", tokenizer=tmp_path / "tokenizer")
    assert Tokenizer.load(tmp_path / "with").fingerprint == tiny_tokenizer.fingerprint
    convert(str(tmp_path / "m"), tmp_path / "without", to="litebert")
    with pytest.raises(DataError, match="no tokenizer here"):
        Tokenizer.load(tmp_path / "without")


def test_convert_warns_of_a_target_without_a_tokenizer(model, tiny_tokenizer, tmp_path, caplog):
    save_model(model, tmp_path / "m")
    convert(str(tmp_path / "m"), tmp_path / "without", to="litebert")
    (warning,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert f"so {tmp_path / 'without'} gets no tokenizer; give --tokenizer" in warning
    caplog.clear()
    tiny_tokenizer.save(tmp_path / "tokenizer")
    convert(str(tmp_path / "m"), tmp_path / "with", to="litebert", tokenizer=tmp_path / "tokenizer")
    assert not [each for each in caplog.records if each.levelname == "WARNING"]


def test_convert_reads_tokenizer_json_unless_the_original_is_given(model, tiny_tokenizer, tmp_path):
    """The fingerprint is that of the original only with the default `character_coverage`, which this one has not."""
    save_model(model, tmp_path / "m", extra_files={"tokenizer.json": tiny_tokenizer.files()["tokenizer.json"]})
    convert(str(tmp_path / "m"), tmp_path / "without", to="litebert")
    assert Tokenizer.load(tmp_path / "without").has_ids_of(tiny_tokenizer)
    tiny_tokenizer.save(tmp_path / "original")
    convert(str(tmp_path / "m"), tmp_path / "t", to="litebert", tokenizer=tmp_path / "original")
    assert Tokenizer.load(tmp_path / "t").fingerprint == tiny_tokenizer.fingerprint


def test_convert_takes_the_model_of_a_run_directory(model, tiny_tokenizer, tmp_path):
    save_model(model, tmp_path / "run" / "model", extra_files=tiny_tokenizer.files())
    convert(str(tmp_path / "run"), tmp_path / "t", to="transformers")
    assert Tokenizer.load(tmp_path / "t").fingerprint == tiny_tokenizer.fingerprint


def test_convert_refuses_a_source_that_does_not_exist(tmp_path):
    with pytest.raises(CheckpointError, match="no such directory"):
        convert("nobody/nothing", tmp_path / "t", to="litebert")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("difference", [0, 5])
def test_convert_accepts_a_tokenizer_with_fewer_tokens_than_the_model(model, tiny_tokenizer, tmp_path, difference):
    save_model(ForMaskedLM(model.config.replace(vocab_size=tiny_tokenizer.vocab_size + difference)), tmp_path / "m")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    convert(str(tmp_path / "m"), tmp_path / "t", to="litebert", tokenizer=tmp_path / "tokenizer")
    assert Tokenizer.load(tmp_path / "t").vocab_size == tiny_tokenizer.vocab_size


def test_convert_refuses_a_tokenizer_with_more_tokens_than_the_model(model, tiny_tokenizer, tmp_path):
    save_model(ForMaskedLM(model.config.replace(vocab_size=tiny_tokenizer.vocab_size - 1)), tmp_path / "m")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    with pytest.raises(ConfigError, match=r"^tokenizer: has \d+ tokens, but the model only \d+; give"):
        convert(str(tmp_path / "m"), tmp_path / "t", to="litebert", tokenizer=tmp_path / "tokenizer")
    assert not (tmp_path / "t").exists()
