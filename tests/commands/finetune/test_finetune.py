"""Fine-tuning."""

import json
import logging
import math
import shutil
from dataclasses import replace

import pytest
import torch

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import CheckpointError, ConfigError, DataError, StoppedBySignalError
from litebert.inference.predictor import Predictor
from litebert.model.config import ModelConfig
from litebert.model.initialization.query_key_patterns import TOKEN_LOGIT
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.kernels.native.library import native_library
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.tasks.metrics.evaluation import Evaluation, Scored
from support.data.labelled_files import write_opinions, write_pairs
from support.models.native_kernels import NEEDS_GCC
from support.models.tolerances import close_to, tolerance
from support.runs.callbacks import At

TRAIN = {
    "duration": "40 steps",
    "optimizer": "adamw",
    "learning_rate": 0.01,
    "evaluate_every": "20 steps",
    "device": "cpu",
}


@pytest.fixture(scope="session")
def config(tiny_tokenizer):
    return ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
        hidden_dropout_prob=0.1,
        initializer_range=0.1,
    )


@pytest.fixture(scope="session")
def pretrained(tiny_tokenizer, config, tmp_path_factory):
    directory = tmp_path_factory.mktemp("pretrained") / "model"
    return save_model(ForPretraining(config), directory, extra_files=tiny_tokenizer.files())


@pytest.fixture
def settings(pretrained, tmp_path):
    """Settings as plain values, to change before they are parsed."""
    return {
        "model": str(pretrained),
        "data": {"train": write_opinions(tmp_path / "train.tsv"), "dev": tmp_path / "train.tsv"},
        "train": dict(TRAIN),
        "batch_size": 12,
        "microbatch_size": 8,
        "max_length": 32,
        "baseline": False,
    }


PAIR = {"text": "text", "text_pair": "text_pair", "label": "label"}
"""Columns of `write_pairs`."""


def parsed(settings, **changes):
    return FinetuneRun.parse({**settings, **changes}, where="test")


def test_finetune_learns_and_saves_the_best_model_with_its_evaluation(settings, tmp_path):
    result = finetune(parsed(settings), tmp_path / "run")
    assert result.best.metrics["accuracy"] > 0.9
    assert (result.task_type, result.train_examples, result.steps) == ("classification", 36, 40)
    evaluation = json.loads((result.model / "evaluation.json").read_text())
    assert evaluation == json.loads(json.dumps(result.best.to_dict()))
    assert sum(map(sum, evaluation["confusion_matrix"])) == evaluation["examples"] == 36
    answers = Predictor.load(result.model).classify(["the film was good", "the music was bad"])
    assert [answer.label for answer in answers] == ["good", "bad"]
    card = (result.model / "README.md").read_text()
    assert "bad, good" in card
    assert f"{evaluation['metrics']['accuracy']:.4g}" in card


@NEEDS_GCC
def test_kernels_of_a_finetuning_run_are_those_of_its_settings_and_end_with_it(settings, tmp_path):
    settings["train"] |= {"duration": "1 steps", "precision": "fp32"}
    used = []
    run = parsed(settings, compute={"native_kernels": False})
    finetune(run, tmp_path / "run", callbacks=[At("step", 1, lambda: used.append(native_library() is not None))])
    assert used == [False]
    assert native_library() is not None


def test_finetuned_model_is_the_same_in_transformers(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    transformers = pytest.importorskip("transformers")
    result = finetune(parsed(settings), tmp_path / "run")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(result.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(result.model)
    assert model.config.id2label == {0: "bad", 1: "good"}
    with torch.inference_mode():
        logits = model(**tokenizer(["the film was good"], return_tensors="pt")).logits
    (found,) = Predictor.load(result.model).classify(["the film was good"])
    assert logits.softmax(-1)[0].tolist() == pytest.approx(list(found.probabilities.values()), abs=tolerance())


def test_finetune_learns_a_regression(settings, tmp_path):
    write_opinions(tmp_path / "train.tsv", labels=(0.5, 4.5))
    result = finetune(parsed(settings), tmp_path / "run")
    assert result.task_type == "regression"
    assert set(result.best.metrics) == {"pearson", "spearman"}
    assert result.best.metrics["pearson"] > 0.9
    good, bad = Predictor.load(result.model).regress(["the film was good", "the music was bad"])
    assert good > bad


@pytest.mark.parametrize("keep_head", [False, True])
def test_finetune_learns_scores_of_any_scale_alike(settings, tmp_path, keep_head):
    settings["train"] |= {"duration": "6 steps", "evaluate_every": "6 steps", "checkpoint_every": "6 steps"}
    predicted = []
    for name, scale, offset in (("small", 1, 0), ("large", 1001, -3000.25)):
        write_opinions(tmp_path / "train.tsv", labels=(0.5 * scale + offset, 4.5 * scale + offset))
        run = finetune(parsed(settings), tmp_path / name)
        if keep_head:  # six more steps, from the head of a model whose predictions have the scale of the data
            run = finetune(parsed({**settings, "model": str(run.model), "keep_head": True}), tmp_path / f"{name}-on")
        scores = [
            Predictor.load(source).regress(["the film was good", "the music was bad"])
            for source in (
                run.model,
                tmp_path / (f"{name}-on" if keep_head else name) / "checkpoints" / "step-00000006",
            )
        ]
        assert scores[0] == pytest.approx(scores[1])  # the checkpoint has a standardized head, the model a dense one
        predicted.append([(score - offset) / scale for score in scores[0]])
    assert predicted[0] == close_to(predicted[1], depth="compound")


def test_finetune_trains_on_the_scores_as_they_are_without_standardization(settings, tmp_path):
    settings |= {"standardize_scores": False}
    settings["train"] |= {"duration": "1 steps"}
    write_opinions(tmp_path / "train.tsv", labels=(1000.5, 1004.5))
    result = finetune(parsed(settings), tmp_path / "run")
    assert abs(Predictor.load(result.model).regress(["the film was good"])[0]) < 100


def test_finetune_whose_steps_are_all_skipped_has_a_result_and_says_so(settings, pretrained, tmp_path):
    """Scores whose squares are beyond fp32: no loss is finite, so no weight changes."""
    settings |= {"standardize_scores": False}
    settings["train"] |= {"duration": "2 steps", "evaluate_every": "2 steps"}
    settings["data"] |= {"task_type": "regression"}
    write_opinions(tmp_path / "train.tsv", labels=(1.5e30, -1.5e30))
    result = finetune(parsed(settings), tmp_path / "run")
    metrics = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [line["train/loss"] for line in metrics if "train/loss" in line]
    assert losses
    assert set(losses) == {None}
    assert result.best.step == 2
    start, end = (load_model(model).encoder.state_dict() for model in (pretrained, result.model))
    assert all(torch.equal(start[name], end[name]) for name in end)
    assert "no step had a finite loss and gradient" in result.to_text()


def test_finetune_holds_out_rows_without_a_development_file(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    settings["data"] = {"train": write_opinions(tmp_path / "train.csv"), "dev": {"fraction": 0.25, "seed": 3}}
    result = finetune(parsed(settings), tmp_path / "run")
    assert (result.train_examples, result.best.evaluation.examples) == (26, 10)


def test_finetune_keeps_the_best_evaluation_not_the_last(settings, tmp_path, monkeypatch):
    scores = iter([0.5, 0.9, 0.7, 0.9])

    def score(*_, **__):
        found = {"labels": ("bad", "good"), "confusion_matrix": [[18, 0], [0, 18]]}
        return Scored(Evaluation(metrics={"accuracy": next(scores)}, examples=36, **found), None, None)

    monkeypatch.setattr("litebert.inference.evaluation_set.EvaluationSet.score_predictions", score)
    settings["train"] |= {"duration": "4 steps", "evaluate_every": "1 steps"}
    result = finetune(parsed(settings), tmp_path / "run")
    assert (result.best.step, result.best.metrics) == (2, {"accuracy": 0.9})


def test_finetune_whose_metric_is_never_a_number_counts_its_evaluations(settings, tmp_path, monkeypatch):
    def score(*_, **__):
        found = {"labels": ("bad", "good"), "confusion_matrix": [[18, 0], [0, 18]]}
        return Scored(Evaluation(metrics={"accuracy": math.nan}, examples=36, **found), None, None)

    monkeypatch.setattr("litebert.inference.evaluation_set.EvaluationSet.score_predictions", score)
    settings["train"] |= {"duration": "2 steps", "evaluate_every": "1 steps"}
    result = finetune(parsed(settings), tmp_path / "run")
    assert (result.best.step, result.evaluations) == (1, 2)
    again = finetune(parsed(settings), tmp_path / "run")
    assert math.isnan(again.scores["accuracy"])
    assert again.to_text() == result.to_text()


def test_finetune_stopped_and_resumed_gives_the_same_weights(settings, tmp_path):
    settings["train"] |= {"duration": "8 steps", "evaluate_every": "4 steps", "checkpoint_every": "2 steps"}
    run = parsed(settings)
    whole = finetune(run, tmp_path / "whole")

    def stop():
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    with pytest.raises(StoppedBySignalError):
        finetune(run, tmp_path / "stopped", callbacks=[At("step", 5, stop)])
    resumed = finetune(run, tmp_path / "stopped")
    assert resumed.best == whole.best
    expected = load_model(whole.model).state_dict()
    for name, tensor in load_model(resumed.model).state_dict().items():
        assert torch.equal(tensor, expected[name]), name


def test_finetune_returns_the_result_of_a_finished_run(settings, tmp_path, caplog):
    settings["train"]["duration"] = "1 steps"
    run = parsed(settings)
    first = finetune(run, tmp_path / "run")
    written = (first.model / "model.safetensors").stat().st_mtime_ns
    with caplog.at_level(logging.INFO, "litebert"):
        again = finetune(run, tmp_path / "run")
    assert again.to_dict() == json.loads(json.dumps(first.to_dict()))
    assert "this run is finished" in caplog.text
    assert (first.model / "model.safetensors").stat().st_mtime_ns == written
    assert "\nbest of 1 evaluations, at step 1: " in again.to_text()
    assert " steps in 9.4 s, " in replace(again, elapsed_seconds=9.4).to_text()
    assert " steps in 1 min 30 s, " in replace(again, elapsed_seconds=90).to_text()


def test_finetune_rejects_other_settings_for_a_finished_run(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    finetune(parsed(settings), tmp_path / "run")
    with pytest.raises(ConfigError, match="other settings \\(seed\\)"):
        finetune(parsed(settings, seed=7), tmp_path / "run")


@pytest.mark.parametrize(("content", "message"), [(None, "missing"), ("{", "not JSON")])
def test_finetune_without_the_evaluation_of_its_best_model_is_an_error(settings, tmp_path, content, message):
    settings["train"]["duration"] = "1 steps"
    run = parsed(settings)
    result = finetune(run, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    evaluation = result.model / "evaluation.json"
    evaluation.unlink() if content is None else evaluation.write_text(content)
    with pytest.raises(CheckpointError, match=message):
        finetune(run, tmp_path / "run")


def test_finetune_sets_every_dropout(settings, tmp_path):
    rates = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.2, "classifier_dropout_prob": 0.4}
    settings["train"]["duration"] = "1 steps"
    config = load_model(finetune(parsed(settings, **rates), tmp_path / "run").model).config
    assert {name: getattr(config, name) for name in rates} == rates


def test_finetuned_model_truncates_in_transformers_to_the_same_length(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    model = finetune(parsed(settings, max_length=24), tmp_path / "run").model
    assert json.loads((model / "tokenizer_config.json").read_text())["model_max_length"] == 24


@pytest.mark.parametrize(
    ("position_embedding", "trained", "warns"), [("absolute", 16, True), ("absolute", 32, False), ("rotary", 16, False)]
)
def test_longer_inputs_than_absolute_positions_were_pretrained_with_are_a_warning(
    settings, config, tiny_tokenizer, tmp_path, caplog, position_embedding, trained, warns
):
    model = ForPretraining(config.replace(position_embedding=position_embedding))
    record = {"pretraining_settings.json": json.dumps({"sampling": {"max_length": trained}}).encode()}
    settings["model"] = str(save_model(model, tmp_path / "model", extra_files={**tiny_tokenizer.files(), **record}))
    settings["train"]["duration"] = "1 steps"
    finetune(parsed(settings), tmp_path / "run")
    assert (f"was pretrained with at most {trained} and has absolute positions" in caplog.text) == warns


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("from_scratch", [False, True])
def test_finetune_sets_what_the_classifier_reads(settings, tmp_path, pooling, from_scratch):
    settings["train"]["duration"] = "1 steps"
    run = parsed(settings, classifier_pooling=pooling, from_scratch=from_scratch)
    assert load_model(finetune(run, tmp_path / "run").model).config.classifier_pooling == pooling


def test_finetune_fits_duplicate_token_heads_before_the_first_step(settings, tiny_tokenizer, tmp_path, caplog):
    """With a learning rate of almost zero the heads stay as they were fitted; other weights are those of the start."""
    caplog.set_level("INFO")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    start = {"model": "tiny", "from_scratch": True, "tokenizer": tmp_path / "tokenizer"}
    settings["data"] = {"train": write_pairs(tmp_path / "pairs.tsv"), "dev": tmp_path / "pairs.tsv", **PAIR}
    settings["train"] |= {"duration": "1 steps", "learning_rate": 1e-12, "weight_decay": 0}
    models = [
        load_model(finetune(parsed(settings, **start, fit_duplicate_token_heads=fit), tmp_path / str(fit)).model)
        for fit in (False, True)
    ]
    plain, fitted = (dict(model.encoder.named_parameters()) for model in models)
    changed = {name for name in plain if not torch.allclose(plain[name], fitted[name], atol=tolerance())}
    assert changed
    assert all("query" in name or "key" in name for name in changed)
    assert "duplicate-token heads: query and key are fitted to" in caplog.text


def test_a_quarter_of_the_duplicate_token_logit_halves_query_and_key(settings, tiny_tokenizer, tmp_path):
    tiny_tokenizer.save(tmp_path / "tokenizer")
    start = {"model": "tiny", "from_scratch": True, "tokenizer": tmp_path / "tokenizer"}
    settings["data"] = {"train": write_pairs(tmp_path / "pairs.tsv"), "dev": tmp_path / "pairs.tsv", **PAIR}
    settings["train"] |= {"duration": "1 steps", "learning_rate": 1e-12, "weight_decay": 0}
    fitted = {"fit_duplicate_token_heads": True}
    models = [
        load_model(finetune(parsed(settings, **start, **fitted, **logit), tmp_path / str(number)).model)
        for number, logit in enumerate(({}, {"duplicate_token_logit": TOKEN_LOGIT / 4}))
    ]
    for layer in ("query", "key"):
        whole, half = (getattr(model.encoder.attentions[0], layer).weight for model in models)
        rows = ((whole - half).abs() > 1e-3).any(1)
        assert rows.any()
        assert torch.allclose(half[rows], whole[rows] / 2, atol=tolerance())


@pytest.mark.parametrize("rows", ["pairs", "single texts"])
def test_heads_fitted_if_pairs_are_those_of_true_for_pairs_and_of_false_for_single_texts(
    settings, tiny_tokenizer, tmp_path, caplog, rows
):
    caplog.set_level("INFO")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    start = {"model": "tiny", "from_scratch": True, "tokenizer": tmp_path / "tokenizer"}
    settings["train"]["duration"] = "1 steps"
    if rows == "pairs":
        settings["data"] = {"train": write_pairs(tmp_path / "pairs.tsv"), "dev": tmp_path / "pairs.tsv", **PAIR}
    models = [
        finetune(parsed(settings, **start, fit_duplicate_token_heads=fit), tmp_path / str(fit)).model
        for fit in ("if_pairs", rows == "pairs")
    ]
    found, expected = ((model / "model.safetensors").read_bytes() for model in models)
    assert found == expected
    assert ("duplicate-token heads: query and key are fitted to" in caplog.text) == (rows == "pairs")


def test_finetune_refuses_to_fit_heads_where_it_does_not_help(settings, tiny_tokenizer, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    tiny_tokenizer.save(tmp_path / "tokenizer")
    start = {"model": "tiny", "from_scratch": True, "tokenizer": tmp_path / "tokenizer"}
    with pytest.raises(DataError, match="the training rows have one text each"):
        finetune(parsed(settings, **start, fit_duplicate_token_heads=True), tmp_path / "run")
    settings["data"] = {"train": write_pairs(tmp_path / "pairs.tsv"), "dev": tmp_path / "pairs.tsv", **PAIR}
    monkeypatch.setattr("litebert.commands.finetune.start.fit_heads.MIN_ATTENTION", 1.1)
    with pytest.raises(ConfigError, match=r"the fitted heads give equal tokens \d+% of their attention in the"):
        finetune(parsed(settings, **start, fit_duplicate_token_heads=True), tmp_path / "random")
    settings["train"]["duration"] = "1 steps"
    models = [
        finetune(parsed(settings, **start, fit_duplicate_token_heads=fit), tmp_path / f"fit-{fit}").model
        for fit in ("if_pairs", False)
    ]
    as_they_were, expected = ((model / "model.safetensors").read_bytes() for model in models)
    assert as_they_were == expected
    assert "no duplicate-token heads are fitted: fit_duplicate_token_heads: the fitted heads give" in caplog.text
    with monkeypatch.context() as patch:
        patch.setattr(
            "litebert.commands.finetune.start.fit_heads.attention_to_equal_tokens", lambda *_, **__: float("nan")
        )
        with pytest.raises(DataError, match=r"none of the first .* training rows has a token in both"):
            finetune(parsed(settings, **start, fit_duplicate_token_heads=True), tmp_path / "different")
    monkeypatch.setattr("litebert.commands.finetune.start.fit_heads.MIN_TOKENS_PER_COLUMN", 10**6)
    with pytest.raises(DataError, match="tokens, expected at least 256000000"):
        finetune(parsed(settings, **start, fit_duplicate_token_heads=True), tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"freeze": "encoder"}, "freeze=encoder"),
        ({"adapters": {"rank": 2}}, "adapters"),
        ({"keep_head": True}, "keep_head"),
    ],
)
def test_fitted_heads_are_refused_where_the_model_cannot_learn_to_use_them(settings, changes, name):
    with pytest.raises(ConfigError, match=f"fit_duplicate_token_heads: .* but {name} is set"):
        parsed(settings, fit_duplicate_token_heads=True, **changes)


def test_finetune_refuses_duplicate_token_heads_of_a_model_with_two_heads(settings, tmp_path):
    settings["data"] = {"train": write_pairs(tmp_path / "pairs.tsv"), "dev": tmp_path / "pairs.tsv", **PAIR}
    with pytest.raises(ConfigError, match="fit_duplicate_token_heads: a model of 2 heads"):
        finetune(parsed(settings, fit_duplicate_token_heads=True), tmp_path / "run")


def test_finetune_logs_the_new_head_and_warns_of_random_weights(settings, pretrained, tmp_path, caplog):
    settings["train"]["duration"] = "1 steps"
    with caplog.at_level(logging.INFO, "litebert"):
        finetune(parsed(settings), tmp_path / "pretrained")
        assert "the head is initialized randomly" in caplog.text
        assert "all weights are initialized randomly" not in caplog.text
        finetune(parsed(settings, from_scratch=True), tmp_path / "random")
    assert "all weights are initialized randomly (from_scratch)" in caplog.text


def test_finetune_from_scratch_takes_a_preset(settings, tiny_tokenizer, tmp_path):
    tiny_tokenizer.save(tmp_path / "tokenizer")
    settings["train"]["duration"] = "1 steps"
    result = finetune(
        parsed(settings, model="tiny", from_scratch=True, tokenizer=tmp_path / "tokenizer"), tmp_path / "run"
    )
    assert load_model(result.model).config.vocab_size == tiny_tokenizer.vocab_size


@pytest.mark.parametrize("own_tokenizer", [False, True])
def test_finetune_from_scratch_takes_the_architecture_of_a_model_of_the_hub(
    settings, pretrained, tiny_tokenizer, tmp_path, monkeypatch, own_tokenizer
):
    monkeypatch.setattr("litebert.model.io.hub.fetch", lambda name, _: {"someone/albert": pretrained}[name])
    tiny_tokenizer.save(tmp_path / "tokenizer")
    settings["train"]["duration"] = "1 steps"
    changes = {"tokenizer": tmp_path / "tokenizer"} if own_tokenizer else {}
    result = finetune(parsed(settings, model="someone/albert", from_scratch=True, **changes), tmp_path / "run")
    assert load_model(result.model).config.hidden_size == load_model(pretrained).config.hidden_size


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "tiny"}, "a preset, which has no weights; give a model directory"),
        ({"model": "tiny", "from_scratch": True}, "a preset, which has none; give a tokenizer directory"),
        ({"max_length": 64}, "max_length: 64 tokens, but the model reads 40"),
        ({"metrics": ["pearson"]}, "'pearson' does not apply to this task type"),
    ],
)
def test_finetune_rejects_settings_before_the_run_directory_exists(settings, tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        finetune(parsed(settings, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_finetune_rejects_a_tokenizer_of_another_size(settings, tiny_tokenizer, config, tmp_path):
    other = config.replace(vocab_size=tiny_tokenizer.vocab_size + 1)
    save_model(ForPretraining(other), tmp_path / "other", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match="tokens, the model's 65; give the tokenizer"):
        finetune(parsed(settings, model=str(tmp_path / "other")), tmp_path / "run")


def test_finetune_rejects_a_model_with_a_missing_tensor(settings, tiny_tokenizer, config, tmp_path):
    save_model(ForMaskedLM(config), tmp_path / "masked", extra_files=tiny_tokenizer.files())
    with pytest.raises(CheckpointError, match="lacks 2 of"):
        finetune(parsed(settings, model=str(tmp_path / "masked")), tmp_path / "run")


def test_finetune_rejects_an_unknown_label_in_the_development_file(settings, tmp_path):
    settings["data"]["dev"] = write_opinions(tmp_path / "dev.tsv", labels=("bad", "god"))
    with pytest.raises(DataError, match=r"dev\.tsv:2: field 'label': unknown label 'god' \(did you mean 'good'\?\)"):
        finetune(parsed(settings), tmp_path / "run")


def test_finetune_recipe_takes_given_values_and_overrides():
    run = load_finetune_config(
        "default",
        ["train.learning_rate=0.001", "data.dev.fraction=0.2"],
        given={"model": "m", "data": {"train": "t.csv"}},
    )
    assert (run.train.learning_rate, run.data.dev.fraction, str(run.data.train)) == (0.001, 0.2, "t.csv")


def test_finetune_rejects_a_misspelt_setting():
    with pytest.raises(ConfigError, match="did you mean 'batch_size'"):
        load_finetune_config("default", ["batchsize=3"], given={"model": "m", "data": {"train": "t.csv"}})


def test_finetune_rejects_sharding(settings):
    with pytest.raises(ConfigError, match="fsdp: fine-tuning does not shard"):
        parsed(settings, train={**TRAIN, "fsdp": True})


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": "/no/such/model"}, CheckpointError, "/no/such/model: no such directory"),
        ({"tokenizer": "/no/such/tokenizer"}, DataError, "/no/such/tokenizer"),
        ({"data": {"train": "/no/such/file.tsv"}}, DataError, "/no/such/file.tsv"),
        ({"data": {"task": "cola", "directory": "/no/such/data"}}, DataError, "/no/such/data"),
        ({"max_length": 512}, ConfigError, "max_length: 512 tokens, but the model reads 40"),
        ({"class_weights": {"excellent": 2}}, ConfigError, "unknown label 'excellent'"),
        ({"train": {**TRAIN, "warmup": "90 steps"}}, ConfigError, "warmup: 90 steps leaves nothing"),
    ],
)
def test_finetune_rejects_inputs_before_anything_is_written(settings, tmp_path, changes, error, message):
    with pytest.raises(error, match=message):
        finetune(parsed(settings, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_finetune_resumes_with_smaller_microbatches_and_permitted_changes(settings, tmp_path):
    """As somebody does whose memory was too small, or whose run was too short."""
    settings["train"] |= {"duration": "1 steps", "schedule": "constant"}
    first = finetune(parsed(settings), tmp_path / "run")
    again = finetune(parsed(settings, microbatch_size=3), tmp_path / "run")
    assert again.to_dict() == json.loads(json.dumps(first.to_dict()))
    settings["train"] |= {"duration": "2 steps", "allow_config_changes": ["train.duration"]}
    assert finetune(parsed(settings, microbatch_size=3), tmp_path / "run").steps == 2


def test_card_and_baselines_of_a_finished_run_may_change(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    before = finetune(parsed(settings), tmp_path / "run")
    weights = (before.model / "model.safetensors").read_bytes()
    after = finetune(parsed(settings, baseline=True, card={"license": "mit"}), tmp_path / "run")
    assert "license: mit\n" in (after.model / "README.md").read_text()
    assert "majority class" in after.baselines
    assert (before.steps, before.best) == (after.steps, after.best)
    assert (after.model / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("from_scratch", [False, True])
def test_finetune_with_activation_checkpointing_gives_the_same_weights(settings, tmp_path, from_scratch):
    settings["train"]["duration"] = "2 steps"
    scratch = {"from_scratch": from_scratch, "tokenizer": settings["model"]}
    kept = finetune(parsed(settings, **scratch), tmp_path / "kept")
    again = finetune(parsed(settings, **scratch, compute={"activation_checkpoint_interval": 1}), tmp_path / "again")
    expected = load_model(kept.model).state_dict()
    for name, tensor in load_model(again.model).state_dict().items():
        torch.testing.assert_close(tensor, expected[name], msg=name)


def test_finished_run_without_checkpoints_does_not_begin_again(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    finetune(parsed(settings), tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(CheckpointError, match="its checkpoints are gone, so it cannot continue with other settings"):
        finetune(parsed(settings, card={"license": "mit"}), tmp_path / "run")


def test_refused_command_leaves_the_settings_of_a_finished_run(settings, tmp_path):
    settings["train"]["duration"] = "1 steps"
    finetune(parsed(settings), tmp_path / "run")
    written = tmp_path / "run" / "settings.yaml"
    before, file = written.read_text(), tmp_path / "train.tsv"
    settings["train"]["keep_checkpoints"] = 7
    rows = file.read_text()
    file.write_text(rows + rows.splitlines()[-1] + "\n")
    with pytest.raises(CheckpointError, match="rows are not those"):
        finetune(parsed(settings), tmp_path / "run")
    assert written.read_text() == before
    file.write_text(rows)
    finetune(parsed(settings), tmp_path / "run")
    assert "keep_checkpoints: 7" in written.read_text()
