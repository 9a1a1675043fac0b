"""Settings of fine-tuning and their effects."""

import json
import logging

import numpy as np
import pytest
import torch

from litebert.commands.finetune.data_settings import BenchmarkFiles, num_training_rows
from litebert.commands.finetune.default_settings import settings_for_size
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.commands.finetune.start.start_model import set_trainable
from litebert.errors import CheckpointError, ConfigError
from litebert.inference.evaluation_set import EvaluationSet
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.models import ForPretraining
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from support.data.benchmark_files import write_cola
from support.data.labelled_files import write_opinions
from support.models.tolerances import close_to, tolerance
from support.runs.callbacks import KilledError, killer
from support.runs.prediction_commands import evaluate_file

TRAIN = {
    "duration": "4 steps",
    "optimizer": "adamw",
    "learning_rate": 0.01,
    "evaluate_every": "2 steps",
    "checkpoint_every": "3 steps",
    "device": "cpu",
}
ADAPTERS = {"rank": 2, "alpha": 4.0, "projections": ["query", "value", "up"]}


@pytest.fixture(scope="module")
def pretrained(tiny_tokenizer, tmp_path_factory):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        max_position_embeddings=40,
        initializer_range=0.1,
        **sizes,
    )
    directory = tmp_path_factory.mktemp("pretrained") / "model"
    return save_model(ForPretraining(config), directory, extra_files=tiny_tokenizer.files())


@pytest.fixture
def planned_run(pretrained, tmp_path):
    """A run on a file of opinions; arguments change its settings, `train` those of the trainer."""

    def plan(*, train=(), labels=("bad", "good"), **changes):
        file = write_opinions(tmp_path / "rows.tsv", labels=labels)
        values = {
            "model": str(pretrained),
            "data": {"train": str(file), "dev": str(file)},
            "batch_size": 12,
            "microbatch_size": 8,
            "max_length": 32,
            "train": {**TRAIN, **dict(train)},
        }
        return FinetuneRun.parse({**values, **changes}, where="test")

    return plan


def weights(directory):
    return load_model(directory).state_dict()


def moved(before, after):
    """Parts whose weights differ."""
    first, second = weights(before), weights(after)
    shared = [name for name in second if name in first and not torch.equal(first[name], second[name])]
    return {name.removeprefix("encoder.").split(".")[0] for name in shared}


# ---- heads of earlier runs


def test_finetune_from_a_run_with_other_labels_has_a_new_head(planned_run, tmp_path, caplog):
    first = finetune(planned_run(labels=("no", "yes")), tmp_path / "first")
    with caplog.at_level(logging.INFO, "litebert"):
        second = finetune(planned_run(model=str(tmp_path / "first"), labels=("0.5", "1.5")), tmp_path / "second")
    assert second.task_type == "regression"
    assert f"{first.model}: pretrained weights; the head is initialized randomly" in caplog.text
    untrained = planned_run(model=str(tmp_path / "first"), train={"learning_rate": 1e-12})
    same = finetune(untrained, tmp_path / "third")
    encoder = {name: value for name, value in weights(first.model).items() if name.startswith("encoder.")}
    again = weights(same.model)
    assert all(torch.allclose(value, again[name], atol=1e-9) for name, value in encoder.items())
    assert not torch.allclose(weights(first.model)["classifier.weight"], again["classifier.weight"], atol=1e-3)


def test_keep_head_keeps_the_head_for_the_same_labels(planned_run, tmp_path, caplog):
    first = finetune(planned_run(), tmp_path / "first")
    with caplog.at_level(logging.INFO, "litebert"):
        second = finetune(
            planned_run(model=str(first.model), keep_head=True, train={"learning_rate": 1e-12}), tmp_path / "second"
        )
    assert "the head is kept" in caplog.text
    kept = weights(second.model)["classifier.weight"]
    assert torch.allclose(weights(first.model)["classifier.weight"], kept, atol=1e-9)


def test_keep_head_rejects_other_labels(planned_run, tmp_path):
    finetune(planned_run(labels=("no", "yes")), tmp_path / "first")
    message = "is a ForSequenceClassification for no, yes, but the data need a ForSequenceClassification for bad, good"
    with pytest.raises(ConfigError, match=message):
        finetune(planned_run(model=str(tmp_path / "first"), keep_head=True), tmp_path / "second")


def test_finetune_from_a_run_without_a_model_is_an_error(planned_run, tmp_path):
    run = tmp_path / "began"
    run.mkdir()
    (run / "settings.yaml").write_text("kind: finetune\n")
    with pytest.raises(CheckpointError, match="the run has no model yet; finish the run first"):
        finetune(planned_run(model=str(run)), tmp_path / "second")


# ---- early stopping


def test_early_stopping_ends_the_run_and_reports_the_learning_rate(planned_run, tmp_path, monkeypatch):
    scores = iter([0.5, 0.9, 0.7, 0.9, 0.8])

    def score(*_, **__):
        found = {"labels": ("bad", "good"), "confusion_matrix": [[18, 0], [0, 18]]}
        return Scored(Evaluation(metrics={"accuracy": next(scores)}, examples=36, **found), None, None)

    monkeypatch.setattr(EvaluationSet, "score_predictions", score)
    run = planned_run(early_stopping_patience=2, train={"duration": "20 steps", "evaluate_every": "2 steps"})
    result = finetune(run, tmp_path / "run")
    assert (result.steps, result.best.step) == (8, 4)
    assert result.stopped_early_at == pytest.approx(0.01 * 12 / 20)
    assert "stopped early at a learning rate of 0.006, before the end of its schedule" in result.to_text()
    assert finetune(run, tmp_path / "run").to_dict() == json.loads(json.dumps(result.to_dict()))


# ---- what is trained


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"freeze": "nothing"}, ["embeddings", "projection", "attentions", "feed_forwards", "pooler"]),
        ({"freeze": "embeddings"}, ["attentions", "feed_forwards", "pooler"]),
        ({"freeze": "all_but_pooler"}, ["pooler"]),
        ({"freeze": "encoder"}, []),
        ({"adapters": ADAPTERS}, ["attentions", "feed_forwards"]),
        ({"adapters": ADAPTERS, "freeze": "all_but_pooler"}, ["attentions", "feed_forwards", "pooler"]),
    ],
    ids=str,
)
def test_frozen_parameters_do_not_change(planned_run, pretrained, tmp_path, caplog, changes, expected):
    with caplog.at_level(logging.INFO, "litebert"):
        result = finetune(planned_run(**changes), tmp_path / "run")
    assert moved(pretrained, result.model) == set(expected)
    assert f"training {result.trained_parameters:,} of " in caplog.text


def test_shared_adapters_are_merged_for_transformers(planned_run, tmp_path):
    transformers = pytest.importorskip("transformers")
    result = finetune(planned_run(adapters=ADAPTERS), tmp_path / "run")
    assert result.trained_parameters == 2 * (2 * (32 + 32) + (32 + 64)) + 2 * 33
    model = transformers.AutoModelForSequenceClassification.from_pretrained(result.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(result.model)
    with torch.inference_mode():
        expected = model(**tokenizer(["the film was good"], return_tensors="pt")).logits.softmax(-1)[0].tolist()
    (found,) = Predictor.load(result.model).classify(["the film was good"])
    assert expected == pytest.approx(list(found.probabilities.values()), abs=tolerance())


def test_per_layer_adapters_are_saved_with_the_model(planned_run, tmp_path):
    run = planned_run(adapters={**ADAPTERS, "per_layer": True})
    result = finetune(run, tmp_path / "run")
    assert load_model(result.model).encoder.adapters == LoRASettings(**run.adapters.to_dict())
    assert evaluate_file(result.model, run.data.train).metrics == pytest.approx(result.best.metrics)
    assert "transformers has no per-layer adapters" in (result.model / "README.md").read_text()
    with pytest.raises(ConfigError, match="the model already has adapters"):
        finetune(planned_run(model=str(result.model), adapters=ADAPTERS), tmp_path / "again")


def test_layerwise_lr_decay_multiplies_the_learning_rate_by_depth(planned_run, pretrained, caplog):
    model = load_model(pretrained, as_model="ForSequenceClassification", labels=("a", "b"), fresh=("classifier",))
    with caplog.at_level(logging.INFO, "litebert"):
        factors = set_trainable(model, planned_run(layerwise_lr_decay=0.5))
    assert "layer-wise learning rate decay of 0.5, at most 2 times" in caplog.text
    assert factors["classifier.weight"] == factors["encoder.pooler.weight"] == 1
    assert factors["encoder.attentions.0.query.weight"] == 0.5
    assert factors["encoder.embeddings.word.weight"] == 0.25


def test_layerwise_lr_decay_slows_the_embeddings(planned_run, pretrained, tmp_path):
    start = load_model(pretrained).state_dict()["encoder.embeddings.position.weight"]
    distances = []
    for decay in (1.0, 0.1):
        result = finetune(planned_run(layerwise_lr_decay=decay, train={"duration": "1 steps"}), tmp_path / f"{decay}")
        distances.append((weights(result.model)["encoder.embeddings.position.weight"] - start).norm().item())
    assert distances[1] == pytest.approx(distances[0] * 0.01, rel=0.05)


# ---- class weights


def test_class_weights_change_the_loss(planned_run, tmp_path):
    losses = []
    for name, setting in (("alike", None), ("weighed", {"good": 9.0}), ("balanced", "balanced")):
        finetune(planned_run(class_weights=setting, train={"duration": "1 steps"}), tmp_path / name)
        rows = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        losses.append(rows[0]["train/loss"])
    assert losses[0] == close_to(losses[2]), "as many rows of each label"
    assert abs(losses[0] - losses[1]) > 1e-4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_weights": {"goood": 2}}, r"unknown label 'goood' \(did you mean 'good'\?\)"),
        ({"class_weights": {"good": 0}}, "class_weights: expected `balanced`, or a positive number"),
        ({"class_weights": {True: 2}}, r"class_weights: YAML reads yes, .* as booleans; quote a label: "),
        ({"class_weights": "even"}, "class_weights: expected `balanced`, or a positive number"),
        ({"early_stopping_patience": 0}, "early_stopping_patience: must be greater than 0"),
        (
            {"early_stopping_patience": 2, "train": {"evaluate_every": None}},
            "early_stopping_patience: the model is evaluated once, at the end; set train.evaluate_every",
        ),
        ({"layerwise_lr_decay": 1.5}, "layerwise_lr_decay: must be less than or equal to 1"),
        ({"keep_head": True, "from_scratch": True}, "a model from scratch has no head to keep"),
        ({"freeze": "head"}, "freeze: must be 'nothing', 'embeddings'"),
        ({"adapters": {"rank": 0}}, "adapters.rank: must be greater than 0"),
    ],
)
def test_finetune_rejects_invalid_settings_before_writing(planned_run, tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        finetune(planned_run(**changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_class_weights_reject_a_regression(planned_run, tmp_path):
    with pytest.raises(ConfigError, match="class_weights: regression has no weights for labels"):
        finetune(planned_run(class_weights="balanced", labels=("0.5", "1.5")), tmp_path / "run")


# ---- all at once, killed


def test_killed_run_with_all_settings_resumes_bit_for_bit(planned_run, tmp_path):
    run = planned_run(
        adapters={**ADAPTERS, "per_layer": True},
        freeze="embeddings",
        layerwise_lr_decay=0.8,
        class_weights={"good": 2.0},
        early_stopping_patience=3,
        hidden_dropout_prob=0.1,
        train={"duration": "12 steps", "warmup": 0.25},
    )
    whole = finetune(run, tmp_path / "whole")
    for kind, step in (("step", 2), ("checkpoint", 3), ("step", 8)):
        with pytest.raises(KilledError):
            finetune(run, tmp_path / "cut", callbacks=[killer(kind, step)])
    resumed = finetune(run, tmp_path / "cut")
    assert resumed.best == whole.best
    assert (resumed.steps, resumed.stopped_early_at) == (whole.steps, whole.stopped_early_at)
    expected = weights(whole.model)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights(resumed.model).items())
    last = sorted((tmp_path / "whole" / "checkpoints").glob("step-*"))[-1].name
    for name in ("litebert.safetensors", "optimizer.safetensors"):
        files = [tmp_path / which / "checkpoints" / last / name for which in ("whole", "cut")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_overrides_set_values_inside_a_null_setting():
    run = load_finetune_config(
        "default",
        ["adapters.rank=4", "adapters.per_layer=true", "class_weights.1=3"],
        given={"model": "m", "data": {"train": "t.csv"}},
    )
    assert (run.adapters.rank, run.adapters.per_layer, run.class_weights) == (4, True, {"1": 3.0})
    again = FinetuneRun.parse(run.to_dict(), where="test")
    assert again == run
    assert np.isfinite(run.adapters.alpha)


def test_rows_of_a_training_file_of_your_own_choose_the_settings(tmp_path):
    write_cola(tmp_path)
    data = {"task": "cola", "directory": str(tmp_path), "split_files": {"train": "dev.tsv"}}
    given = {"model": "albert-base-v2", "data": data}
    run = load_finetune_config("default", given=given)
    rows = len((tmp_path / "CoLA" / "dev.tsv").read_text().splitlines())
    assert num_training_rows(run.data) == rows
    assert run.batch_size == settings_for_size(768, rows).to_dict()["batch_size"]
    missing = BenchmarkFiles(task="cola", directory=tmp_path, split_files={"train": "none.tsv"})
    assert num_training_rows(missing) is None
