"""sentence-transformers computes the embeddings and the class probabilities of litebert."""

import sys

import numpy as np
import pytest
import torch

from litebert import embed
from litebert.errors import ConfigError
from litebert.inference.predictor import Predictor
from litebert.interop.convert_weights import convert
from litebert.manifest import verify_manifest
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining, ForSequenceClassification, SentenceEmbedder
from support.models.model_builders import MODERN, perturbed
from support.models.tolerances import close_to

TEXTS = ["The film was good, in 1999.", "music", "this story is awful " * 30]


@pytest.fixture
def sentence_transformers(tmp_path, monkeypatch):
    module = pytest.importorskip("sentence_transformers")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    forget_remote_code()
    yield module
    forget_remote_code()


def forget_remote_code():
    """Other tests import other copies of the remote code."""
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        del sys.modules[name]


MODELS = {
    "pretrained": (lambda config: ForPretraining(config), {}),
    "fine-tuned": (lambda config: ForSequenceClassification(config, num_labels=2), {}),
    "embedder": (lambda config: SentenceEmbedder(config, pooling="cls"), {}),
    "modern": (lambda config: ForPretraining(config), {**MODERN, "num_hidden_layers": 2}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers_computes_the_embeddings_of_litebert(
    sentence_transformers, tiny_tokenizer, small_config, tmp_path, name
):
    build, changes = MODELS[name]
    model = build(small_config.replace(**changes))
    source = save_model(model, tmp_path / "source", extra_files=tiny_tokenizer.files())
    target = tmp_path / "target"
    report = convert(str(source), target, to="sentence-transformers")
    assert report.model == "SentenceEmbedder"
    verify_manifest(target)
    theirs = sentence_transformers.SentenceTransformer(str(target), trust_remote_code=bool(changes), device="cpu")
    ours = Predictor.load(target).embed(TEXTS)
    assert theirs.encode(TEXTS) == close_to(ours)
    assert Predictor.load(source).embed(TEXTS, pooling="cls" if name == "embedder" else "mean") == close_to(ours)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_embeddings_trained_by_sentence_transformers_are_read_back(
    sentence_transformers, tiny_tokenizer, small_config, tmp_path, name
):
    build, changes = MODELS[name]
    source = save_model(build(small_config.replace(**changes)), tmp_path / "source", extra_files=tiny_tokenizer.files())
    convert(str(source), tmp_path / "target", to="sentence-transformers")
    before = Predictor.load(tmp_path / "target").embed(TEXTS)
    model = sentence_transformers.SentenceTransformer(
        str(tmp_path / "target"), trust_remote_code=bool(changes), device="cpu"
    )
    train(model, sentence_transformers, steps=2)
    model.save(str(tmp_path / "trained"))
    after = Predictor.load(tmp_path / "trained").embed(TEXTS)
    assert model.encode(TEXTS) == close_to(after)
    assert abs(after - before).max() > 1e-3
    assert embed(tmp_path / "trained", TEXTS) == close_to(after)


def train(model, sentence_transformers, *, steps):
    loss = sentence_transformers.sentence_transformer.losses.MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        loss([model.preprocess(TEXTS), model.preprocess(TEXTS[::-1])], None).backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("changes", [{}, {**MODERN, "num_hidden_layers": 2}], ids=["albert", "modern"])
@pytest.mark.filterwarnings("ignore")
def test_cross_encoder_computes_the_probabilities_of_litebert(
    sentence_transformers, tiny_tokenizer, small_config, tmp_path, changes
):
    labels = ("bad", "fair", "good")
    model = perturbed(ForSequenceClassification(small_config.replace(**changes), num_labels=3))
    options = {"labels": labels, "problem_type": "single_label_classification"}
    directory = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files(), **options)
    pairs = [(text, "a play") for text in TEXTS]
    cross_encoder = sentence_transformers.CrossEncoder(str(directory), trust_remote_code=bool(changes), device="cpu")
    scores = cross_encoder.predict(pairs, apply_softmax=True)
    found = Predictor.load(directory).classify(pairs)
    assert scores == close_to(np.array([[each.probabilities[label] for label in labels] for each in found]))


def test_convert_to_sentence_transformers_rejects_what_it_cannot_load(tiny_tokenizer, small_config, tmp_path):
    with_tokenizer = save_model(ForPretraining(small_config), tmp_path / "a", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="as_model: sentence-transformers loads a SentenceEmbedder"):
        convert(str(with_tokenizer), tmp_path / "t", to="sentence-transformers", as_model="ForMaskedLM")
    without = save_model(ForPretraining(small_config), tmp_path / "b")
    with pytest.raises(ConfigError, match="has no tokenizer, which sentence-transformers needs"):
        convert(str(without), tmp_path / "t", to="sentence-transformers")
    assert not (tmp_path / "t").exists()
