"""Precision, device and threads mean the same in every command that predicts."""

import json
import shutil
from functools import partial

import pytest
import torch

from litebert.commands.compare.compare import compare
from litebert.commands.compare.compare_settings import CompareRun
from litebert.commands.embed.embed import embed
from litebert.commands.embed.embed_settings import EmbedRun, SearchRun
from litebert.commands.embed.search import search
from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.ensemble.ensemble_settings import EnsembleRun
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.glue_submission.glue_submission import glue_submission
from litebert.commands.glue_submission.glue_submission_settings import GlueSubmissionRun
from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.corpus.format.shards import Corpus
from litebert.errors import ConfigError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForPretraining, ForSequenceClassification
from litebert.model.prepacked.prepack import has_operators
from litebert.tokenization.tokenizer import Tokenizer
from support.data.benchmark_files import write_cola

COMMANDS = {
    "evaluate --data": lambda **given: evaluate(EvaluateRun(model="a", data="rows.csv", **given)),
    "evaluate --data PATTERN": lambda **given: evaluate(EvaluateRun(model="a", data="row?.csv", output="out", **given)),
    "evaluate --task": lambda **given: evaluate(EvaluateRun(model="a", task="cola", task_dir=".", **given)),
    "evaluate --corpus": lambda *, corpus, **given: evaluate(
        EvaluateRun(model="pretrained", corpus=corpus, sampling=("max_length=32",), max_eval_examples=2, **given)
    ),
    "evaluate --suite": lambda **given: evaluate(EvaluateRun(model="pretrained", suite="pairs.jsonl", **given)),
    "ensemble": lambda **given: ensemble(EnsembleRun(members=("a", "b"), data="rows.csv", **given)),
    "ensemble (no labels)": lambda **given: ensemble(
        EnsembleRun(members=("a", "b"), data="texts.csv", out="out.csv", **given)
    ),
    "compare": lambda **given: compare(CompareRun(models=("a",), baseline=("b",), data="rows.csv", **given)),
    "glue-submission": lambda **given: glue_submission(
        GlueSubmissionRun(predictions=("cola=a", "cola=b"), task_dir=".", out="glue.zip", **given)
    ),
    "predict": lambda **given: predict(PredictRun(model="a", input="rows.csv", output="out.csv", **given)),
    "embed": lambda **given: embed(EmbedRun(model="a", input="rows.csv", output="out.npy", **given)),
    "search": lambda **given: search(SearchRun(model="a", input="rows.csv", query=("a film",), **given)),
}


@pytest.fixture(scope="module")
def directory(small_config, tiny_tokenizer, corpus_directory, tmp_path_factory):
    """The classifiers `a` and `b`, a pretrained model, and examples for them."""
    directory = tmp_path_factory.mktemp("models")
    for seed, name in enumerate("ab"):
        saved = {"labels": ("0", "1"), "problem_type": "single_label_classification"}
        model = ForSequenceClassification(small_config, num_labels=2, seed=seed)
        save_model(model, directory / name, **saved, extra_files=tiny_tokenizer.files())
    tokenizer = Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)
    pretrained = ForPretraining(small_config.replace(vocab_size=tokenizer.vocab_size))
    save_model(pretrained, directory / "pretrained", extra_files=tokenizer.files())
    write_cola(directory)
    (directory / "rows.csv").write_text("text,label\nthe film,0\nthe music,1\n")
    (directory / "texts.csv").write_text("text\nthe film\nthe music\n")
    pair = {"sentence_good": "the film was good", "sentence_bad": "the film was was"}
    (directory / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    return directory


@pytest.fixture(params=COMMANDS)
def command(request, directory, corpus_directory, tmp_path, monkeypatch):
    """A command on a copy of these models and examples; the test adds settings."""
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 40)
    run = COMMANDS[request.param]
    return partial(run, corpus=corpus_directory) if request.param == "evaluate --corpus" else run


@pytest.mark.parametrize("precision", ["fp32", "auto"])
def test_cuda_is_refused_where_torch_finds_no_cuda_device(command, monkeypatch, precision):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(ConfigError, match="device: 'cuda' was asked for, but torch finds 0 CUDA devices; use cpu or"):
        command(device="cuda", precision=precision)


@pytest.mark.skipif(not has_operators("int8"), reason="torch without oneDNN")
def test_int8_is_computed_on_the_processor_of_a_machine_with_a_gpu(command, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    command(precision="int8", threads=1)


def test_auto_takes_the_gpu_of_a_machine_that_has_one(command, monkeypatch):
    """The model is moved to it, which fails here: there is none."""
    if torch.cuda.is_available():
        pytest.skip("on a machine with a GPU nothing fails")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        command(precision="fp32")


def test_threads_of_torch_are_those_that_are_asked_for(command):
    command(device="cpu", precision="fp32", threads=3)
    assert torch.get_num_threads() == 3


def test_a_cuda_device_and_int8_exclude_each_other(command):
    with pytest.raises(ConfigError, match="device: 'cuda', but int8 is computed on processors; use cpu or auto"):
        command(device="cuda", precision="int8")
