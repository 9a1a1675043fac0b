"""Averages of weights: exact means, what is kept beside them, and models that do not belong together."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import CheckpointError, ConfigError
from litebert.files import INPUT_SETTINGS, PRETRAINING_SETTINGS, README, TASK
from litebert.interop.average_shares import shares_of
from litebert.interop.average_weights import average_models
from litebert.interop.convert_weights import convert
from litebert.manifest import verify_manifest
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import build, config_contents, load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.model.io.weight_files import OWN, SAFETENSORS, read_safetensors, write_tensors
from litebert.model.layers.lora import attach
from litebert.model.layers.lora_settings import LoRASettings
from litebert.tokenization.tokenizer import Tokenizer
from support.models.model_builders import MODERN
from support.models.tolerances import close_to, within

TINY = ModelConfig(
    vocab_size=30,
    max_position_embeddings=16,
    embedding_size=8,
    hidden_size=12,
    intermediate_size=20,
    num_attention_heads=2,
    num_hidden_layers=2,
)


def saved(directory, *, seed: int, model: str = "ForPretraining", labels=(), files=None, pairing=None, **changes):
    """The parameters of a model that was saved into `directory`."""
    config = TINY.replace(**changes)
    weights = build(ModelSpec(model=model, config=config, labels=labels, pairing=pairing), seed=seed)
    save_model(weights, directory, labels=labels, extra_files=files)
    return dict(weights.named_parameters())


@pytest.mark.parametrize("changes", [{}, MODERN, {"sharing": "none"}], ids=["albert", "modern", "unshared"])
def test_every_parameter_is_the_weighted_mean(tmp_path, changes):
    names = ["a", "b", "c"]
    each = [saved(tmp_path / name, seed=seed, **changes) for seed, name in enumerate(names)]
    report = average_models([tmp_path / name for name in names], tmp_path / "out", weights=[1, 2, 5])
    assert report.weights == (1 / 8, 2 / 8, 5 / 8)
    for name, parameter in load_model(tmp_path / "out").named_parameters():
        mean = sum(share * one[name].double() for share, one in zip(report.weights, each, strict=True))
        assert torch.allclose(parameter, mean.float(), **within(depth="operation"))


def test_average_of_equal_models_is_that_model_in_every_bit(tmp_path):
    weights = saved(tmp_path / "a", seed=0)
    report = average_models([tmp_path / "a"] * 3, tmp_path / "out", weights=[0.1, 0.3, 0.7])
    assert all(torch.equal(one, weights[name]) for name, one in load_model(tmp_path / "out").named_parameters())
    assert report.distances == close_to((0, 0, 0), torch.float64)


def test_report_has_shares_and_distances(tmp_path):
    one, two = saved(tmp_path / "a", seed=0), saved(tmp_path / "b", seed=1)
    report = average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "out", weights=[3, 1])
    mean = {name: 0.75 * one[name] + 0.25 * two[name] for name in one}
    norm = np.sqrt(sum(float(tensor.detach().double().square().sum()) for tensor in mean.values()))
    apart = np.sqrt(sum(float((two[name] - one[name]).detach().double().square().sum()) for name in one))
    assert report.distances == close_to((0.25 * apart / norm, 0.75 * apart / norm), depth="operation")
    lines = report.to_text().splitlines()
    assert lines[0] == f"{tmp_path / 'out'} (ForPretraining): the average of the weights of"
    assert lines[1].startswith(f"   75.0% {tmp_path / 'a'}, which differs from it by {report.distances[0]:.1%}")
    assert lines[-1].startswith("Evaluate it")


def test_average_keeps_vocabulary_task_and_the_settings_of_the_largest_share_but_no_card(tmp_path, tiny_tokenizer):
    task, size = {TASK: b'{"task_type": "classification"}'}, tiny_tokenizer.vocab_size
    for seed, name in enumerate("ab"):
        files = {PRETRAINING_SETTINGS: json.dumps({"of": name}).encode(), README: b"Scores"}
        saved(tmp_path / name, seed=seed, files={**tiny_tokenizer.files(), **task, **files}, vocab_size=size)
    average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "out", weights=[0.3, 0.7], dtype="float16")
    out = tmp_path / "out"
    verify_manifest(out)
    assert json.loads((out / PRETRAINING_SETTINGS).read_bytes()) == {"of": "b"}
    assert (out / TASK).read_bytes() == task[TASK]
    assert not (out / README).exists()
    assert Tokenizer.load(out).fingerprint == tiny_tokenizer.fingerprint
    assert {tensor.dtype for tensor in read_safetensors(out / SAFETENSORS).values()} == {torch.float16}


def test_averages_ignore_settings_of_training_in_the_config(tmp_path):
    saved(tmp_path / "a", seed=0)
    saved(tmp_path / "b", seed=1, hidden_dropout_prob=0.1, initializer_range=0.05)
    average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert load_model(tmp_path / "out").config.hidden_dropout_prob == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act is relu and gelu_new; average models of one architecture"),
        ({"hidden_size": 16}, "hidden_size is 16 and 12"),
        ({"model": "ForMaskedLM"}, "model is 'ForMaskedLM' and 'ForPretraining'; average models of one kind"),
        ({"pairing": "nsp"}, "pairing is 'nsp' and None"),
        ({"files": {INPUT_SETTINGS: b"{}"}}, "have other contents in input_settings.json"),
    ],
)
def test_models_that_do_not_belong_together_are_refused(tmp_path, other, message):
    saved(tmp_path / "a", seed=0)
    saved(tmp_path / "b", seed=1, **other)
    with pytest.raises(ConfigError, match=message):
        average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_classifiers_with_labels_in_another_order_are_refused(tmp_path):
    for seed, labels in enumerate([("no", "yes"), ("yes", "no")]):
        saved(tmp_path / labels[0], seed=seed, model="ForSequenceClassification", labels=labels)
    with pytest.raises(ConfigError, match=r"labels is \('yes', 'no'\) and \('no', 'yes'\)"):
        average_models([tmp_path / "no", tmp_path / "yes"], tmp_path / "out")


def test_another_vocabulary_is_refused_and_a_missing_one_is_that_of_the_others(tmp_path, tiny_tokenizer):
    files, size = tiny_tokenizer.files(), tiny_tokenizer.vocab_size
    saved(tmp_path / "a", seed=0, files=files, vocab_size=size)
    saved(tmp_path / "without", seed=1, vocab_size=size)
    settings = json.loads(files["tokenizer_config.json"]) | {"do_lower_case": False}
    cased = {"spiece.model": files["spiece.model"], "tokenizer_config.json": json.dumps(settings).encode()}
    saved(tmp_path / "cased", seed=1, files=cased, vocab_size=size)
    with pytest.raises(ConfigError, match="have other vocabularies; average models of one vocabulary"):
        average_models([tmp_path / "a", tmp_path / "cased"], tmp_path / "out")
    average_models([tmp_path / "without", tmp_path / "a"], tmp_path / "out")
    assert Tokenizer.load(tmp_path / "out").vocab_size == size


def test_diverged_models_are_refused(tmp_path):
    saved(tmp_path / "a", seed=0)
    model = build(ModelSpec(model="ForPretraining", config=TINY), seed=1)
    with torch.no_grad():
        model.encoder.pooler.bias[0] = float("nan")
    save_model(model, tmp_path / "b")
    with pytest.raises(CheckpointError, match=r"encoder.pooler.bias is not finite, as after a diverged training"):
        average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "out")


@pytest.mark.parametrize(
    "replace", [average_models, lambda sources, target: convert(sources[0], target, to="litebert")]
)
def test_sources_in_the_directory_that_is_replaced_are_kept(tmp_path, replace):
    """As the checkpoints of a training by transformers, whose directory is a model too."""
    for name in ("run", "run/checkpoint-1", "run/checkpoint-2"):
        saved(tmp_path / name, seed=0)
    sources = [tmp_path / "run" / "checkpoint-1", tmp_path / "run" / "checkpoint-2"]
    with pytest.raises(ConfigError, match=r"run: .*checkpoint-1 lies in it and would be deleted; choose another dir"):
        replace(sources, tmp_path / "run")
    assert all((each / "config.json").is_file() for each in sources)


def test_averages_do_not_replace_one_of_their_models(tmp_path):
    saved(tmp_path / "a", seed=0)
    with pytest.raises(ConfigError, match="is one of the models, which would be replaced"):
        average_models([tmp_path / "a", tmp_path / "a"], tmp_path / "b" / ".." / "a")


def test_checkpoints_with_adapters_are_refused(tmp_path):
    model = build(ModelSpec(model="ForPretraining", config=TINY))
    attach(model, LoRASettings(rank=2), seed=0)
    (tmp_path / "a").mkdir()
    for name, content in config_contents(model).items():
        (tmp_path / "a" / name).write_bytes(content)
    write_tensors(tmp_path / "a" / OWN, dict(model.named_parameters()))
    with pytest.raises(ConfigError, match=r"are not merged into the weights cannot be averaged; give the model of its"):
        average_models([tmp_path / "a", tmp_path / "a"], tmp_path / "out")


def test_models_with_adapters_of_each_layer_are_refused(tmp_path):
    model = build(ModelSpec(model="ForPretraining", config=TINY))
    attach(model, LoRASettings(rank=2, per_layer=True), seed=0)
    save_model(model, tmp_path / "a")
    with pytest.raises(ConfigError, match="a model with per-layer adapters cannot be averaged"):
        average_models([tmp_path / "a", tmp_path / "a"], tmp_path / "out")


@given(st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=2, max_size=6))
def test_shares_sum_to_one_and_keep_the_ratios(weights):
    shares = shares_of(weights, weights)
    assert sum(shares) == pytest.approx(1)
    assert [share / shares[0] for share in shares] == pytest.approx([weight / weights[0] for weight in weights])
    assert shares_of(weights, [1e308] * len(weights)) == pytest.approx([1 / len(weights)] * len(weights))
    assert shares_of(weights, []) == pytest.approx([1 / len(weights)] * len(weights))


@pytest.mark.parametrize(
    ("models", "weights", "message"),
    [
        ("a", [], "found 1, but an average needs at least two"),
        ("ab", [1], "found 1 for 2 models"),
        ("ab", [1, 0], "found 0, expected a positive number"),
        ("ab", [1, float("nan")], "found nan"),
        ("ab", [float("inf"), 1], "found inf"),
    ],
)
def test_wrong_weights_are_refused(models, weights, message):
    with pytest.raises(ConfigError, match=message):
        shares_of(models, weights)
