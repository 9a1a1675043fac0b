"""The best model of a training run."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.runs.best_model import BestModel, Metrics, evaluation_file
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus
from litebert.errors import ConfigError
from litebert.files import EVALUATION
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import TrainingProgress
from support.runs.pretrain_runs import ONE_BLOCK

CONFIG = ModelConfig(
    hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, embedding_size=8, vocab_size=60
)


def best_model(directory, values, *, metric="mlm_accuracy"):
    measured = iter(values)

    def save(model, scores, step):
        save_model(model, directory, extra_files=evaluation_file({"step": step, "metrics": scores.metrics}))

    return BestModel(
        lambda model: Metrics({metric: next(measured)}),
        metric=metric,
        greater_is_better=not metric.endswith("loss"),
        directory=directory,
        world=DistributedContext(0, 1, torch.device("cpu")),
        save=save,
    )


def evaluate(best, model, step):
    """An evaluation in training, and the call of the callback after it."""
    values = best.evaluate(model)
    best.on_evaluate(SimpleNamespace(progress=TrainingProgress(step=step)), values)
    return values


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        ("mlm_accuracy", [0.1, 0.3, 0.2], 0.3),
        ("sop_accuracy", [0.6, 0.5, 0.6], 0.6),
        ("nsp_accuracy", [0.5], 0.5),
        ("mlm_loss", [5.0, 4.0, math.nan, 4.5], 4.0),
        ("loss", [math.nan, 7.0], 7.0),
    ],
)
def test_best_model_saves_the_best_of_all_evaluations(tmp_path, metric, values, expected):
    best = best_model(tmp_path / "best", values, metric=metric)
    for step, value in enumerate(values):
        model = ForPretraining(CONFIG)
        torch.nn.init.constant_(model.sentence_pair.bias, 0.0 if math.isnan(value) else value)
        assert evaluate(best, model, step)[metric] is value
    saved = json.loads((tmp_path / "best" / EVALUATION).read_text())
    assert saved == {"step": values.index(expected), "metrics": {metric: expected}}
    assert load_model(tmp_path / "best").sentence_pair.bias[0].item() == pytest.approx(expected)


def test_a_score_that_is_not_a_number_is_null_in_the_file_and_worse_than_any_when_it_is_read(tmp_path):
    evaluate(best_model(tmp_path / "best", [math.nan]), ForPretraining(CONFIG), 1)
    assert json.loads((tmp_path / "best" / EVALUATION).read_text(), parse_constant=pytest.fail)["metrics"] == {
        "mlm_accuracy": None
    }
    evaluate(best_model(tmp_path / "best", [0.1]), ForPretraining(CONFIG), 2)
    assert json.loads((tmp_path / "best" / EVALUATION).read_text())["step"] == 2


def test_best_model_of_a_resumed_run_continues_with_its_best(tmp_path):
    evaluate(best_model(tmp_path / "best", [0.3]), ForPretraining(CONFIG), 1)
    resumed = best_model(tmp_path / "best", [0.2])
    evaluate(resumed, ForPretraining(CONFIG), 2)
    assert json.loads((tmp_path / "best" / EVALUATION).read_text())["step"] == 1


@pytest.mark.parametrize("hook", ["on_train_begin", "on_rollback"])
def test_best_model_of_a_step_that_the_run_has_no_more_is_forgotten(tmp_path, hook):
    """A run that was killed after the evaluation of step 6, or that was rolled back, has its checkpoint at step 4."""
    evaluate(best_model(tmp_path / "best", [0.3]), ForPretraining(CONFIG), 6)
    for step, expected in ((6, 6), (4, 5)):
        resumed = best_model(tmp_path / "best", [0.2])
        getattr(resumed, hook)(SimpleNamespace(progress=TrainingProgress(step=step)))
        evaluate(resumed, ForPretraining(CONFIG), step + 1)
        assert json.loads((tmp_path / "best" / EVALUATION).read_text())["step"] == expected


@pytest.mark.parametrize("is_resumed", [False, True])
def test_after_a_rollback_the_best_model_is_the_one_before(tmp_path, is_resumed):
    """The best of step 2 is of a step before the checkpoint, that of step 5 is lost with its weights."""
    best = best_model(tmp_path / "best", [0.7, 0.8, 0.9, 0.75])
    run = SimpleNamespace(progress=TrainingProgress(step=4))
    for step in (1, 2):
        evaluate(best, ForPretraining(CONFIG), step)
    best.on_checkpoint(run, path=tmp_path, step=4)
    evaluate(best, ForPretraining(CONFIG), 5)
    best = best_model(tmp_path / "best", [0.75]) if is_resumed else best
    (best.on_train_begin if is_resumed else best.on_rollback)(run)
    evaluate(best, ForPretraining(CONFIG), 6)
    assert json.loads((tmp_path / "best" / EVALUATION).read_text())["step"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_the_best_model_stays_if_the_next_one_cannot_be_saved(tmp_path, monkeypatch):
    best = best_model(tmp_path / "best", [0.7, 0.9])
    evaluate(best, ForPretraining(CONFIG), 1)
    best.on_checkpoint(SimpleNamespace(), path=tmp_path, step=4)
    monkeypatch.setattr("litebert.manifest.write_manifest", lambda directory: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate(best, ForPretraining(CONFIG), 5)
    resumed = best_model(tmp_path / "best", [0.6])
    resumed.on_train_begin(SimpleNamespace(progress=TrainingProgress(step=4)))
    evaluate(resumed, ForPretraining(CONFIG), 5)
    assert json.loads((tmp_path / "best" / EVALUATION).read_text())["step"] == 1


def test_the_best_model_before_is_removed_when_a_checkpoint_has_the_present_one(tmp_path):
    best = best_model(tmp_path / "best", [0.7, 0.9])
    evaluate(best, ForPretraining(CONFIG), 1)
    best.on_checkpoint(SimpleNamespace(), path=tmp_path, step=4)
    evaluate(best, ForPretraining(CONFIG), 5)
    assert len(list(tmp_path.iterdir())) == 2
    best.on_checkpoint(SimpleNamespace(), path=tmp_path, step=8)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_pretrain_exports_the_best_model_and_keeps_the_last(corpus_directory, tmp_path):
    """A rate that ruins what the first steps learned: the model of an early evaluation is the better one."""
    more = [
        "metric_for_best_model=mlm_loss",
        "train.duration=6 steps",
        "train.evaluate_every=1 steps",
        "train.learning_rate=3",
    ]
    out = tmp_path / "run"
    result = pretrain(
        load_pretrain_config("quickstart", [*ONE_BLOCK, *more, "train.warmup=0.9"], corpus=corpus_directory), out
    )
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    losses = [record["evaluation/mlm_loss"] for record in records if "evaluation/mlm_loss" in record]
    assert result.end is not None
    assert min(losses) < losses[-1], "the last one is not the best"
    assert result.end.mlm_loss == pytest.approx(min(losses), rel=0.01)
    exported, last = load_model(out / "model").state_dict(), load_model(out / "last").state_dict()
    assert not torch.equal(exported["mlm.bias"], last["mlm.bias"])
    assert not (out / "best").exists()
    card = (out / "model" / "README.md").read_text()
    assert f"| the best by mlm_loss on the validation split, of {len(losses)} evaluations: these scores are" in card


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["metric_for_best_model=mlm_accuracy", "max_eval_examples=0"],
            "needs evaluations",
        ),
        (["metric_for_best_model=nsp_accuracy"], "add nsp to eval_pair_objectives"),
        (["metric_for_best_model=sop_accuracy", "sampling.pairing=none"], "add sop to eval_pair_objectives"),
        (["metric_for_best_model=beauty"], "metric_for_best_model"),
    ],
)
def test_pretrain_rejects_a_metric_that_is_not_measured(corpus_directory, settings, message):
    with pytest.raises(ConfigError, match=message):
        load_pretrain_config("quickstart", [*ONE_BLOCK, *settings], corpus=corpus_directory)


def test_pretrain_rejects_a_metric_of_pairs_that_the_text_does_not_have(corpus_directory, tmp_path):
    """Before the first step, not at the first evaluation."""
    (tmp_path / "validation.txt").write_text("Just one sentence.\n")
    (tmp_path / "text.txt").write_text("One sentence.\nAnother one.\n\nThe next document.\nIts end.\n")
    tokenizer = Tokenizer.load(Corpus.open(corpus_directory).tokenizer_directory)
    settings, files = CorpusSettings(validation_fraction=0.0), [tmp_path / "text.txt"]
    build_corpus(files, tokenizer, settings, tmp_path / "corpus", validation=[str(tmp_path / "validation.txt")])
    more = ["metric_for_best_model=sop_accuracy", "sampling.pairing=sop", "train.duration=2 steps"]
    run = load_pretrain_config("quickstart", [*ONE_BLOCK, *more], corpus=tmp_path / "corpus")
    with pytest.raises(ConfigError, match="metric_for_best_model: sop_accuracy cannot be measured"):
        pretrain(run, tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_best_model_is_kept_on_the_process_that_saves_it_alone():
    gathered = []
    best = BestModel(
        lambda model: Metrics({"mlm_loss": 1.0}),
        metric="mlm_loss",
        greater_is_better=False,
        directory=Path("absent"),
        world=SimpleNamespace(rank=1, on_rank_zero=lambda work: work()),
        save=lambda model, scores, step: pytest.fail("saved on a process that does not save"),
        gather=lambda model: gathered.append(model) or model,
    )
    evaluate(best, "model", 1)
    assert gathered == ["model"], "gathering needs all processes"
