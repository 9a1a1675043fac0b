"""The best model so far: saved when it is better, known after a resume, exported at the end."""

import json
import math

import pytest
import torch

from litebert.commands.pretrain.best_model import METRIC_FILE, BestModel
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.errors import ConfigError
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForPretraining
from litebert.training.distributed.context import DistributedContext
from support.pretrain_runs import ONE_BLOCK

CONFIG = ModelConfig(
    hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, embedding_size=8, vocab_size=60
)


def best_model_of(directory, values, *, metric_for_best_model="mlm_accuracy"):
    measured = iter(values)
    return BestModel(
        lambda model: {metric_for_best_model: next(measured)},
        metric_for_best_model=metric_for_best_model,
        directory=directory,
        config=CONFIG,
        world=DistributedContext(0, 1, torch.device("cpu")),
        extra_files={"note.txt": b"beside it"},
    )


def saved_value(directory):
    return json.loads((directory / METRIC_FILE).read_text())["value"]


@pytest.mark.parametrize(
    ("metric_for_best_model", "values", "best"),
    [
        ("mlm_accuracy", [0.1, 0.3, 0.2], 0.3),
        ("sop_accuracy", [0.6, 0.5, 0.6], 0.6),
        ("nsp_accuracy", [0.5], 0.5),
        ("mlm_loss", [5.0, 4.0, math.nan, 4.5], 4.0),
        ("loss", [math.nan, 7.0], 7.0),
    ],
)
def test_best_model_of_all_evaluations_is_saved(tmp_path, metric_for_best_model, values, best):
    best_model = best_model_of(tmp_path / "best", values, metric_for_best_model=metric_for_best_model)
    for value in values:
        model = ForPretraining(CONFIG)
        torch.nn.init.constant_(model.sentence_pair.bias, 0.0 if math.isnan(value) else value)
        assert best_model(model)[metric_for_best_model] is value
    assert saved_value(tmp_path / "best") == best
    assert load_model(tmp_path / "best").sentence_pair.bias[0].item() == pytest.approx(best)
    assert (tmp_path / "best" / "note.txt").read_bytes() == b"beside it"


def test_best_model_is_known_after_a_resume(tmp_path):
    best_model_of(tmp_path / "best", [0.3])(ForPretraining(CONFIG))
    best_model_of(tmp_path / "best", [0.2])(ForPretraining(CONFIG))
    assert saved_value(tmp_path / "best") == 0.3


def test_best_model_is_exported_and_the_last_model_is_saved_too(corpus_directory, tmp_path):
    """A learning rate that is too high later in the run: the model of an early evaluation is the best."""
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
def test_metric_for_best_model_that_is_not_evaluated_is_rejected(corpus_directory, settings, message):
    with pytest.raises(ConfigError, match=message):
        load_pretrain_config("quickstart", [*ONE_BLOCK, *settings], corpus=corpus_directory)
