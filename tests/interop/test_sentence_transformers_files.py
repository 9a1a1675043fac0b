"""sentence-transformers computes the embeddings and the class probabilities of litebert."""

import json
import sys

import numpy as np
import pytest
import torch

from litebert import embed
from litebert.errors import CheckpointError, ConfigError
from litebert.inference.predictor import Predictor
from litebert.interop.convert_weights import convert
from litebert.manifest import verify_manifest
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.io.model_spec import read_model_spec
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


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.filterwarnings("ignore")
def test_pooling_and_length_of_sentence_transformers_are_read_and_converted(
    sentence_transformers, tiny_tokenizer, small_config, tmp_path, pooling
):
    from sentence_transformers.models import Pooling, Transformer

    source = save_model(perturbed(SentenceEmbedder(small_config)), tmp_path / "m", extra_files=tiny_tokenizer.files())
    modules = [Transformer(str(source), max_seq_length=16), Pooling(small_config.hidden_size, pooling)]
    theirs = sentence_transformers.SentenceTransformer(modules=modules, device="cpu")
    theirs.save(str(tmp_path / "theirs"))
    convert(str(tmp_path / "theirs"), tmp_path / "own", to="litebert")
    convert(str(tmp_path / "theirs"), tmp_path / "back", to="sentence-transformers")
    back = sentence_transformers.SentenceTransformer(str(tmp_path / "back"), device="cpu")
    assert back.max_seq_length == 16
    expected = theirs.encode(TEXTS)
    assert back.encode(TEXTS) == close_to(expected / np.linalg.norm(expected, axis=1, keepdims=True))
    for directory in ("theirs", "own", "back"):
        assert Predictor.load(tmp_path / directory).embed(TEXTS, normalize=False) == close_to(expected), directory


def write_modules(directory, *types, pooling=None, **files):
    listed = [{"path": "1_Pooling" if name == "Pooling" else "", "type": f"x.models.{name}"} for name in types]
    (directory / "1_Pooling").mkdir()
    contents = {"modules.json": listed, "1_Pooling/config.json": pooling or {}, **files}
    for name, content in contents.items():
        (directory / name).write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("pooling", "files", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, {}, ("cls", None)),
        ({"pooling_mode": ["cls"]}, {"sentence_bert_config.json": {"max_seq_length": 16}}, ("cls", 16)),
        ({}, {"sentence_bert_config.json": {"max_seq_length": None}}, ("mean", None)),
        ({}, {"sentence_albert_config.json": {"max_seq_length": 4096}}, ("mean", None)),
    ],
)
def test_settings_of_each_version_of_sentence_transformers_are_read(small_config, tmp_path, pooling, files, expected):
    directory = save_model(SentenceEmbedder(small_config), tmp_path / "m")
    write_modules(directory, "Transformer", "Pooling", "Normalize", pooling=pooling, **files)
    spec = read_model_spec(directory)
    assert (spec.pooling, spec.max_length) == expected


@pytest.mark.parametrize(
    ("types", "pooling", "message"),
    [
        (["Transformer", "Pooling", "Dense"], {}, r"modules\.json: has a module Dense, expected Transformer, Pooling"),
        (
            ["Transformer", "Pooling"],
            {"pooling_mode_max_tokens": True},
            "config.json: pooling is max, expected mean",
        ),
        (["Transformer", "Pooling"], {"pooling_mode": ["mean", "max"]}, "config.json: pooling is mean and max, exp"),
    ],
)
def test_vectors_that_litebert_does_not_compute_are_refused(small_config, tmp_path, types, pooling, message):
    directory = save_model(SentenceEmbedder(small_config), tmp_path / "m")
    write_modules(directory, *types, pooling=pooling)
    with pytest.raises(ConfigError, match=f"{message}.* to use the encoder alone$"):
        load_model(directory)


@pytest.mark.parametrize("modules", ["{", "{}", "[1]", '[{"type": "Pooling"}]'])
def test_damaged_modules_of_sentence_transformers_are_refused(small_config, tmp_path, modules):
    directory = save_model(SentenceEmbedder(small_config), tmp_path / "m")
    (directory / "modules.json").write_text(modules)
    with pytest.raises(CheckpointError, match=r"modules\.json: .*; take a fresh copy$"):
        load_model(directory)


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
