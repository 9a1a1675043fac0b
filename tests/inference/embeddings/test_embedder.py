"""Vectors of texts: pooling, scaling, truncation, batches."""

import numpy as np
import pytest
import torch

from litebert.errors import ConfigError
from litebert.inference.embeddings.embedding_settings import EmbeddingSettings
from litebert.inference.prediction_methods import unit_length
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import SentenceEmbedder
from support.models.tolerances import close_to

TEXTS = ["the film was good", "music", "this story is awful, in 1999. her play"]
MODELS = ["pretraining", "masked", "classifier", "chooser", "tagger", "reader", "embedder"]


def hidden_states(model, tokenizer, text):
    """Float32 [S, H]: the last hidden states of one text, without padding."""
    ids = torch.tensor([tokenizer.encode_pair(text).input_ids])
    with torch.inference_mode():
        output = model.encoder(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids))
    return output.last_hidden_state[0].numpy()


@pytest.mark.parametrize("name", MODELS)
def test_embed_is_the_mean_of_the_hidden_states_of_every_model(saved, tiny_tokenizer, name):
    model = load_model(saved[name])
    expected = [hidden_states(model, tiny_tokenizer, text).mean(0) for text in TEXTS]
    vectors = Predictor.load(saved[name]).embed(TEXTS, normalize=False)
    assert vectors.dtype == np.float32
    assert vectors == close_to(np.stack(expected))


def test_embed_with_cls_is_the_hidden_state_of_the_first_token(saved, tiny_tokenizer):
    model = load_model(saved["masked"])
    expected = [hidden_states(model, tiny_tokenizer, text)[0] for text in TEXTS]
    vectors = Predictor.load(saved["masked"]).embed(TEXTS, pooling="cls", normalize=False)
    assert vectors == close_to(np.stack(expected))


def test_embed_uses_the_pooling_of_a_sentence_embedder(tiny_tokenizer, config, tmp_path):
    directory = save_model(SentenceEmbedder(config, pooling="cls"), tmp_path / "m", extra_files=tiny_tokenizer.files())
    predictor = Predictor.load(directory)
    assert predictor.embed(TEXTS) == close_to(predictor.embed(TEXTS, pooling="cls"))
    assert predictor.embed(TEXTS) != close_to(predictor.embed(TEXTS, pooling="mean"))


def test_embed_scales_the_kept_dimensions_to_length_one(saved):
    predictor = Predictor.load(saved["masked"])
    raw = predictor.embed(TEXTS, normalize=False)[:, :5]
    scaled = predictor.embed(TEXTS, dimensions=5)
    assert scaled == close_to(raw / np.linalg.norm(raw, axis=1, keepdims=True))


def test_embed_truncates_to_max_length_and_to_the_positions_of_the_model(saved):
    predictor = Predictor.load(saved["masked"])
    long = "the film was good " * 50
    whole = predictor.embed([long])
    assert predictor.embed([long + "music"]) == close_to(whole)
    assert predictor.embed([long], max_length=48) == close_to(whole)
    assert predictor.embed([long], max_length=20) != close_to(whole)


@pytest.mark.parametrize("option", [{"dimensions": 17}, {"max_length": 49}])
def test_embed_rejects_more_dimensions_or_tokens_than_the_model_has(saved, option):
    with pytest.raises(ConfigError, match=r"more than the (16|48) of the model"):
        Predictor.load(saved["masked"]).embed(TEXTS, **option)


@pytest.mark.parametrize("text", ["", " \n"])
def test_embed_gives_a_text_without_a_token_the_vector_of_the_special_tokens(saved, text, caplog):
    predictor = Predictor.load(saved["masked"], precision="fp32")
    vectors = predictor.embed(["music", text])
    assert "texts: 1 of 2 texts are empty or have no tokens" in caplog.text
    states = hidden_states(load_model(saved["masked"]), predictor.backend.tokenizer, "")
    assert vectors[1] == close_to(unit_length(states.mean(0, keepdims=True))[0])


def test_embed_rejects_one_text_instead_of_a_list(saved):
    with pytest.raises(ConfigError, match="found one text"):
        Predictor.load(saved["masked"]).embed("music")


def test_embed_of_no_texts_is_empty(saved):
    assert Predictor.load(saved["masked"]).embed([]).shape == (0, 16)


def test_embed_does_not_depend_on_the_other_texts(saved):
    predictor = Predictor.load(saved["masked"])
    together = predictor.embed(TEXTS)
    assert np.concatenate([predictor.embed([text]) for text in TEXTS]) == close_to(together)


def test_vectors_and_counts_do_not_depend_on_the_parts_that_texts_are_read_in(saved, monkeypatch):
    texts = ["the film was good " * 50, "", "music", "", "her play"]
    embedder = Predictor.load(saved["masked"], precision="fp32").embedder(EmbeddingSettings(max_length=20))
    whole, counts = embedder.vectors_and_counts(texts)
    monkeypatch.setattr("litebert.inference.embeddings.text_embedder.TEXTS_PER_PART", 2)
    parts, counts_of_parts = embedder.vectors_and_counts(texts)
    assert parts == close_to(whole)
    assert counts_of_parts == counts == {"truncated": 1, "empty": 2}


def test_similarity_is_the_cosine_of_each_pair(saved):
    predictor = Predictor.load(saved["masked"])
    cosines = predictor.similarity(TEXTS, TEXTS[:2])
    raw = predictor.embed(TEXTS, normalize=False)
    norms = np.linalg.norm(raw, axis=1)
    expected = (raw @ raw[:2].T) / norms[:, None] / norms[None, :2]
    assert cosines == close_to(expected)
