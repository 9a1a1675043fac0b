"""Fine-tuning runs whose weights diverge."""

import json
import math

import pytest
import torch

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.sweep.sweep import sweep
from litebert.commands.sweep.sweep_settings import SweepRun
from litebert.training.callbacks.callback import Callback
from support.runs.tiny_runs import opinions_run, save_pretrained


class Diverging(Callback):
    """Makes the head NaN after a step."""

    def __init__(self, step):
        self._step = step

    def on_step(self, run, record):
        if record.step == self._step:
            torch.nn.init.constant_(run.model.classifier.weight, math.nan)


@pytest.fixture
def values(tiny_tokenizer, tmp_path):
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained")
    settings = opinions_run(pretrained, tmp_path / "rows.csv", duration="3 steps", evaluate_every="1 steps")
    return {**settings, "metrics": ["roc_auc", "accuracy"]}


@pytest.mark.parametrize("calibrate", [True, False])
def test_best_model_is_from_before_the_weights_diverged(values, tmp_path, calibrate):
    values["train"] |= {"milestones": ["2 steps"]}
    run = FinetuneRun.parse({**values, "calibrate": calibrate}, where="test")
    result = finetune(run, tmp_path / "run", callbacks=[Diverging(2)])
    assert result.best.step == 1
    assert result.best.evaluation.has_scores
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    scores = [line["evaluation/accuracy"] for line in lines if "evaluation/accuracy" in line]
    assert scores == [result.scores["accuracy"], None, None]


def test_run_without_finite_scores_has_a_remark(values, tmp_path):
    result = finetune(FinetuneRun.parse(values, where="test"), tmp_path / "run", callbacks=[Diverging(1)])
    assert math.isnan(result.best.score)
    (remark,) = result.remarks
    assert remark.startswith("no evaluated model has scores that are finite: its weights have diverged, or its metrics")
    assert "roc_auc nan" in result.to_text()


def test_finished_run_with_an_undefined_score_of_a_baseline_is_read_again(values, tmp_path, monkeypatch):
    undefined = {"majority class": {"roc_auc": math.nan, "accuracy": 0.5}}
    monkeypatch.setattr("litebert.commands.finetune.finetune.baseline_scores", lambda data: undefined)
    run = FinetuneRun.parse({**values, "baseline": True}, where="test")
    finetune(run, tmp_path / "run")
    assert math.isnan(finetune(run, tmp_path / "run").baselines["majority class"]["roc_auc"])


def test_trial_without_finite_scores_has_diverged(values, tmp_path):
    run = SweepRun.parse({"base": values, "grid": {"seed": [0]}}, where="test")
    result = sweep(run, tmp_path / "sweep", callbacks=[Diverging(1)])
    assert [trial.state for trial in result.trials] == ["diverged"]
    assert "diverged: seed=0: no evaluated model has scores that are finite" in result.to_text()
