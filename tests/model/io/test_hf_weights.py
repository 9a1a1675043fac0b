import pytest
import torch

from litebert.errors import CheckpointError
from litebert.model.config import ModelConfig
from litebert.model.io.hf_weights import tensors_from_transformers, tensors_to_transformers
from litebert.model.io.model_directory import build, load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.io.weight_files import SAFETENSORS, read_safetensors, write_tensors

TINY = ModelConfig(
    hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, embedding_size=4, vocab_size=10
)
EQUAL = TINY.replace(embedding_size=8)
WORDS, DECODER = "albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"


def weights(config: ModelConfig = TINY, model: str = "ForMaskedLM") -> dict[str, torch.Tensor]:
    return build(ModelSpec(model=model, config=config), seed=1).state_dict()


def assert_same(found, expected) -> None:
    assert set(found) == set(expected)
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


@pytest.mark.parametrize("config", [TINY, EQUAL, EQUAL.replace(embedding_projection="always")], ids=str)
def test_hf_weights_round_trip_is_lossless(config):
    renamed = tensors_from_transformers(tensors_to_transformers(weights(config), config), config, where="m")
    assert_same(renamed.tensors, weights(config))
    assert renamed.config == config


def test_hf_weights_add_and_remove_an_identity_projection():
    theirs = tensors_to_transformers(weights(EQUAL), EQUAL)
    assert torch.equal(theirs["albert.encoder.embedding_hidden_mapping_in.weight"], torch.eye(8))
    renamed = tensors_from_transformers(theirs, EQUAL, where="m")
    assert [reason for _, reason in renamed.dropped] == ["the identity, which changes nothing"] * 2


@pytest.mark.parametrize("part", ["weight", "bias"])
def test_hf_weights_keep_a_projection_that_is_not_the_identity(part):
    theirs = tensors_to_transformers(weights(EQUAL), EQUAL)
    theirs[f"albert.encoder.embedding_hidden_mapping_in.{part}"] += 0.5
    renamed = tensors_from_transformers(theirs, EQUAL, where="m")
    assert renamed.config == EQUAL.replace(embedding_projection="always")
    assert "encoder.projection.weight" in renamed.tensors


def test_hf_weights_without_projection_at_equal_sizes_are_accepted():
    theirs = tensors_to_transformers(weights(EQUAL), EQUAL)
    kept = {name: tensor for name, tensor in theirs.items() if "embedding_hidden_mapping_in" not in name}
    assert_same(tensors_from_transformers(kept, EQUAL, where="m").tensors, weights(EQUAL))


def test_hf_weights_of_a_bare_encoder_are_recognised():
    theirs = tensors_to_transformers(weights(model="SentenceEmbedder"), TINY)
    bare = {name.removeprefix("albert."): tensor for name, tensor in theirs.items()}
    assert_same(tensors_from_transformers(bare, TINY, where="m").tensors, weights(model="SentenceEmbedder"))


def test_hf_weights_accept_gamma_and_beta():
    theirs = tensors_to_transformers(weights(), TINY)
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in theirs.items()
    }
    assert old.keys() != theirs.keys()
    assert_same(tensors_from_transformers(old, TINY, where="m").tensors, weights())


def test_hf_weights_drop_buffers_and_other_heads_by_name():
    theirs = {
        **tensors_to_transformers(weights(), TINY),
        "albert.embeddings.position_ids": torch.arange(5),
        "x": torch.ones(1),
    }
    dropped = tensors_from_transformers(theirs, TINY, where="m").dropped
    assert {name for name, _ in dropped} == {"albert.embeddings.position_ids", "x"}


def test_hf_weights_untie_the_decoder_from_the_embeddings():
    theirs = tensors_to_transformers(weights(), TINY)
    copied = {**theirs, DECODER: theirs[WORDS].clone()}
    assert tensors_from_transformers(copied, TINY, where="m").dropped == ((DECODER, f"equal to {WORDS}"),)
    lone = {name: tensor for name, tensor in copied.items() if name != WORDS}
    assert_same(tensors_from_transformers(lone, TINY, where="m").tensors, weights())


def test_hf_weights_refuse_a_decoder_that_differs_from_the_embeddings():
    theirs = tensors_to_transformers(weights(), TINY)
    with pytest.raises(CheckpointError, match=r"^m: predictions\.decoder\.weight differs"):
        tensors_from_transformers({**theirs, DECODER: theirs[WORDS] + 1}, TINY, where="m")


def test_encoder_beside_another_decoder_is_read_for_models_without_that_head(tmp_path, caplog):
    save_model(build(ModelSpec(model="ForMaskedLM", config=TINY)), tmp_path / "m")
    (tmp_path / "m" / "SHA256SUMS").unlink()
    theirs = read_safetensors(tmp_path / "m" / SAFETENSORS)
    write_tensors(tmp_path / "m" / SAFETENSORS, {**theirs, DECODER: theirs[WORDS] + 1})
    with caplog.at_level("INFO"):
        embedder = load_model(tmp_path / "m", as_model="SentenceEmbedder")
    assert torch.equal(embedder.encoder.embeddings.word.weight, theirs[WORDS])
    assert f"tensor {DECODER} dropped: differs from the word embeddings, and the model has no MLM head" in caplog.text
    for model in (None, "ForPretraining"):
        with pytest.raises(CheckpointError, match=r"predictions\.decoder\.weight differs"):
            load_model(tmp_path / "m", as_model=model)


def test_hf_weights_take_the_decoder_bias():
    theirs = tensors_to_transformers(weights(), TINY)
    renamed = tensors_from_transformers({**theirs, "predictions.decoder.bias": torch.full((10,), 7.0)}, TINY, where="m")
    assert renamed.tensors["mlm.bias"].tolist() == [7.0] * 10


def test_hf_weights_refuse_heads_that_transformers_lacks():
    with pytest.raises(CheckpointError, match="has no name in transformers"):
        tensors_to_transformers(weights(model="ForQuestionAnsweringWithNoAnswer"), TINY)
