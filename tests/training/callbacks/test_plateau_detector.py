"""A run that does not learn is warned of once; one that learns is not."""

import json
import math

import pytest

from litebert.training.callbacks.plateau_detector import PlateauDetector
from support.runs.callbacks import KilledError, killer
from support.runs.toy import CLASSES, train

BASELINES = {"class": math.log(CLASSES)}


@pytest.fixture
def _short_window(monkeypatch):
    monkeypatch.setattr("litebert.training.callbacks.plateau_detector._STEPS", 20)


def warning_steps(losses, *, steps=1000) -> list[int]:
    detector = PlateauDetector({"mlm": 6.0})
    return [step for step, loss in enumerate(losses) if detector.update({"mlm": loss}, fraction=(step + 1) / steps)]


def test_plateau_detector_warns_once_of_a_loss_at_its_baseline():
    assert warning_steps([6.0] * 1000) == [399]


def test_plateau_detector_ignores_a_falling_loss_above_the_baseline():
    assert warning_steps([10 - step / 250 for step in range(1000)]) == []


def test_plateau_detector_ignores_a_constant_loss_below_the_baseline():
    assert warning_steps([5.7] * 1000) == []


def test_plateau_detector_warns_of_a_loss_that_diverged():
    assert warning_steps([5.5] * 400 + [9.0] * 600) == [599]


def test_plateau_detector_has_longer_windows_in_a_long_run():
    assert warning_steps([6.0] * 4000, steps=20_000)[0] >= 799


def test_plateau_detector_counts_only_the_steps_that_have_the_loss():
    detector = PlateauDetector({"mlm": 6.0})
    losses = [{"mlm": 6.0} if step % 2 else {"clm": 1.0} for step in range(1000)]
    assert [step for step, loss in enumerate(losses) if detector.update(loss, fraction=(step + 1) / 1000)] == [799]


def test_plateau_detector_state_survives_json_and_keeps_the_warning():
    detector, other = PlateauDetector({"mlm": 6.0}), PlateauDetector({"mlm": 6.0, "sop": 0.7})
    for step in range(500):
        detector.update({"mlm": 6.0}, fraction=step / 1000)
    other.load_state_dict(json.loads(json.dumps(detector.state_dict())))
    assert other.state_dict()["mlm"] == detector.state_dict()["mlm"]
    assert not any(other.update({"mlm": 6.0, "sop": 0.1}, fraction=0.5 + step / 1000) for step in range(500))


@pytest.mark.parametrize(
    ("changes", "expected"), [({"learning_rate": 0.01}, 0), ({}, 1), ({"schedule": "linear", "warmup": 0.9}, 0)]
)
@pytest.mark.usefixtures("_short_window")
def test_plateau_detector_warns_of_a_run_that_does_not_learn_after_warmup(tmp_path, caplog, changes, expected):
    fixed = {"duration": "120 steps", "learning_rate": 1e-9, "schedule": "constant"}
    train(tmp_path, callbacks=[PlateauDetector(BASELINES)], **(fixed | changes))
    assert caplog.text.count("the model does not learn yet") == expected
    assert caplog.text.count("Likely causes: a learning rate too high or too low") == expected


@pytest.mark.usefixtures("_short_window")
def test_plateau_detector_does_not_warn_again_after_a_resume(tmp_path, caplog):
    changes = {"duration": "120 steps", "learning_rate": 1e-9, "checkpoint_every": "70 steps"}
    with pytest.raises(KilledError):
        train(tmp_path, **changes, callbacks=[PlateauDetector(BASELINES), killer("checkpoint", 70)])
    train(tmp_path, **changes, callbacks=[PlateauDetector(BASELINES)])
    assert caplog.text.count("the model does not learn yet") == 1
