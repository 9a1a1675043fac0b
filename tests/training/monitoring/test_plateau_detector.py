"""A run that does not learn is told of once; one that learns is not."""

import json
import math

import pytest
from litebert.training.callbacks.events import Saved

from litebert.training.callbacks.plateau_detector import PlateauDetector
from support.events_that_kill import KilledError, killer
from support.toy import CLASSES, train

BASELINES = {"class": math.log(CLASSES)}


@pytest.fixture
def _short_patience(monkeypatch):
    """Stretches of 20 steps."""
    monkeypatch.setattr("litebert.training.callbacks.plateau_detector._STEPS", 20)


def told(losses, *, steps=1000) -> list[int]:
    watch = PlateauDetector({"mlm": 6.0})
    return [step for step, loss in enumerate(losses) if watch.saw({"mlm": loss}, progress=(step + 1) / steps)]


def test_a_loss_that_stays_at_its_baseline_is_told_of_once():
    assert told([6.0] * 1000) == [399]


def test_a_loss_above_it_that_falls_is_not():
    assert told([10 - step / 250 for step in range(1000)]) == []


def test_a_loss_below_it_is_not_however_flat():
    assert told([5.7] * 1000) == []


def test_a_loss_that_diverged_and_stays_there_is():
    assert told([5.5] * 400 + [9.0] * 600) == [599]


def test_a_long_run_has_longer_patience():
    assert told([6.0] * 4000, steps=20_000)[0] >= 799


def test_its_state_survives_a_file_and_it_speaks_once_all_in_all():
    watch, other = PlateauDetector({"mlm": 6.0}), PlateauDetector({"mlm": 6.0, "sop": 0.7})
    for step in range(500):
        watch.saw({"mlm": 6.0}, progress=step / 1000)
    other.restore(json.loads(json.dumps(watch.state())))
    assert other.state()["mlm"] == watch.state()["mlm"]
    assert not any(other.saw({"mlm": 6.0, "sop": 0.1}, progress=0.5 + step / 1000) for step in range(500))


@pytest.mark.parametrize(("learning_rate", "expected"), [(0.01, 0), (1e-9, 1)])
@pytest.mark.usefixtures("_short_patience")
def test_a_run_that_cannot_learn_says_so_and_one_that_learns_does_not(tmp_path, caplog, learning_rate, expected):
    train(tmp_path, duration="120 steps", baselines=BASELINES, learning_rate=learning_rate, schedule="constant")
    assert caplog.text.count("so far the model does not learn") == expected
    assert caplog.text.count("Likely causes: a learning rate too high, or too low") == expected


@pytest.mark.usefixtures("_short_patience")
def test_a_resumed_run_does_not_say_it_again(tmp_path, caplog):
    changes = {"duration": "120 steps", "baselines": BASELINES, "learning_rate": 1e-9, "checkpoint_every": "70 steps"}
    with pytest.raises(KilledError):
        train(tmp_path, **changes, listeners=[killer(Saved, 70)])
    train(tmp_path, **changes)
    assert caplog.text.count("so far the model does not learn") == 1
