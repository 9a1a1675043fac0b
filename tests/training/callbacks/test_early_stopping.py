"""Early stopping ends a run that no longer improves, and a resumed run at the same step."""

import json
import math

import pytest
import torch

from litebert.errors import ConfigError
from litebert.training.callbacks.early_stopping import EarlyStopping
from support.runs.callbacks import KilledError, killer
from support.runs.toy import ToyModel, rows, train, weights

LONG = {"duration": "20 steps", "evaluate_every": "2 steps", "checkpoint_every": "3 steps"}


def evaluations_until_stop(scores, patience, **options):
    stopping = EarlyStopping(patience, metric="accuracy", **options)
    for count, score in enumerate(scores, start=1):
        stopping.update({"accuracy": score})
        if stopping.exhausted:
            return count
    return None


@pytest.mark.parametrize(
    ("scores", "patience", "expected"),
    [
        ([0.5, 0.6, 0.6, 0.5], 2, 4),
        ([0.5, 0.4, 0.6, 0.5], 2, None),
        ([0.5, 0.5], 1, 2),
        ([math.nan, math.nan, 0.1], 2, 2),
        ([0.5, math.nan, 0.6, math.nan], 2, None),
    ],
)
def test_early_stopping_waits_for_patience_evaluations_without_improvement(scores, patience, expected):
    assert evaluations_until_stop(scores, patience) == expected


def test_a_lower_value_is_an_improvement_if_greater_is_not_better():
    assert evaluations_until_stop([5.0, 4.0, math.nan, 3.0, 3.0, 4.0], 2, greater_is_better=False) == 6


def test_early_stopping_state_survives_json():
    stopping, other = EarlyStopping(3, metric="x"), EarlyStopping(3, metric="x")
    for value in (math.nan, 0.5, 0.4):
        stopping.update({"x": value})
    other.load_state_dict(json.loads(json.dumps(stopping.state_dict())))
    other.update({"x": 0.5})
    assert not other.exhausted
    other.update({"x": 0.5})
    assert other.exhausted


@pytest.fixture(scope="module")
def score(tmp_path_factory):
    """A metric that is a function of the weights, with its maximum after step 6."""
    model = ToyModel()
    with pytest.raises(KilledError):
        train(tmp_path_factory.mktemp("peak"), **LONG, model=model, callbacks=[killer("step", 6)])
    peak = weights(model).norm().item()
    return lambda model: {"score": -abs(weights(model).norm().item() - peak)}


def test_early_stopping_ends_a_killed_and_resumed_run_at_the_same_step(tmp_path, score, caplog):
    caplog.set_level("INFO")

    def run(name, *callbacks):
        stopping = EarlyStopping(2, metric="score")
        return train(tmp_path / name, **LONG, evaluate=score, callbacks=[stopping, *callbacks])

    model, whole = run("whole")
    assert "early stopping: score has not improved in 2 evaluations" in caplog.text
    assert (whole.steps, whole.stopped_early) == (10, True)
    assert 0 < whole.learning_rate < 0.01
    for hook, step in (("step", 5), ("checkpoint", 6), ("step", 10)):
        with pytest.raises(KilledError):
            run("cut", killer(hook, step))
    resumed, cut = run("cut")
    assert (cut.steps, cut.stopped_early) == (10, True)
    assert torch.equal(weights(model), weights(resumed))
    again, finished = run("cut")
    assert (finished.steps, finished.stopped_early) == (10, True)
    assert torch.equal(weights(again), weights(model))
    assert max(row["step"] for row in rows(tmp_path / "cut")) == 10


def test_run_without_early_stopping_reaches_its_duration(tmp_path):
    _, result = train(tmp_path, **LONG, evaluate=lambda model: {"loss": 1.0})
    assert (result.steps, result.stopped_early, result.learning_rate) == (20, False, 0.0)


def test_early_stopping_names_the_metrics_that_exist():
    with pytest.raises(ConfigError, match="metric f1: the evaluation has no such metric; it has accuracy, loss"):
        EarlyStopping(1, metric="f1").update({"accuracy": 0.5, "loss": 1.0})
