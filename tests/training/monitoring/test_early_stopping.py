"""Patience: a run that no longer gets better ends, and a resumed one ends at the same step."""

import json
import math

import pytest
import torch
from litebert.training.callbacks.events import Saved, StepDone

from litebert.training.callbacks.early_stopping import EarlyStopping
from support.events_that_kill import KilledError, killer
from support.toy import ToyModel, rows, train, weights

LONG = {"duration": "20 steps", "evaluate_every": "2 steps", "checkpoint_every": "3 steps"}


def exhausted_after(scores, evaluations):
    patience = EarlyStopping(evaluations, by="accuracy")
    for count, score in enumerate(scores, start=1):
        patience.saw({"accuracy": score})
        if patience.exhausted:
            return count
    return None


@pytest.mark.parametrize(
    ("scores", "evaluations", "expected"),
    [
        ([0.5, 0.6, 0.6, 0.5], 2, 4),
        ([0.5, 0.4, 0.6, 0.5], 2, None),
        ([0.5, 0.5], 1, 2),
        ([math.nan, math.nan, 0.1], 2, 2),
        ([0.5, math.nan, 0.6, math.nan], 2, None),
        ([0.5] * 99, None, None),
    ],
)
def test_it_waits_for_so_many_evaluations_in_a_row_without_a_better_one(scores, evaluations, expected):
    assert exhausted_after(scores, evaluations) == expected


def test_its_state_survives_a_file():
    patience, other = EarlyStopping(3, by="x"), EarlyStopping(3, by="x")
    for value in (math.nan, 0.5, 0.4):
        patience.saw({"x": value})
    other.restore(json.loads(json.dumps(patience.state())))
    other.saw({"x": 0.5})
    assert not other.exhausted
    other.saw({"x": 0.5})
    assert other.exhausted


@pytest.fixture(scope="module")
def score(tmp_path_factory):
    """A function of the weights, as a real score is, that is best after step 6."""
    model = ToyModel()
    with pytest.raises(KilledError):
        train(tmp_path_factory.mktemp("peak"), **LONG, model=model, listeners=[killer(StepDone, 6)])
    peak = weights(model).norm().item()
    return lambda model: {"score": -abs(weights(model).norm().item() - peak)}


def test_a_run_stops_early_at_the_same_step_when_it_is_killed_and_resumed(tmp_path, score):
    def run(name, **listen):
        return train(tmp_path / name, **LONG, evaluate=score, patience=EarlyStopping(2, by="score"), **listen)

    model, whole = run("whole")
    assert (whole.steps, whole.stopped_early) == (10, True)
    assert 0 < whole.learning_rate < 0.01
    for kind, step in ((StepDone, 5), (Saved, 6), (StepDone, 10)):
        with pytest.raises(KilledError):
            run("cut", listeners=[killer(kind, step)])
    resumed, cut = run("cut")
    assert (cut.steps, cut.stopped_early) == (10, True)
    assert torch.equal(weights(model), weights(resumed))
    again, finished = run("cut")
    assert (finished.steps, finished.stopped_early) == (10, True)
    assert torch.equal(weights(again), weights(model))
    assert max(row["step"] for row in rows(tmp_path / "cut")) == 10


def test_a_run_without_patience_goes_to_its_end(tmp_path):
    _, result = train(tmp_path, **LONG, evaluate=lambda model: {"loss": 1.0})
    assert (result.steps, result.stopped_early, result.learning_rate) == (20, False, 0.0)
