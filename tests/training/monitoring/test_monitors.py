"""The three watchers behind one door: what they decide, what they tell, what a checkpoint keeps of them."""

import json
import math

import pytest
from litebert.training.callbacks.monitors import Monitors

from litebert.training.callbacks.early_stopping import EarlyStopping
from litebert.training.callbacks.spike_detector import NO_LIMITS, Limits
from litebert.training.loop.progress import TrainingProgress
from litebert.training.loop.run_schedule import RunSchedule
from litebert.training.loop.step import StepOutcome
from support.toy import ToyBatches, settings

LOW, HIGH = 1.0, 100.0
FLAT = {"a": 6.0}
"""Loss of one who knows nothing."""


def watchers(*, silent=False, evaluations=None, **changes) -> Monitors:
    watched = {"duration": "1000 steps", "spikes": {"window": 4}} | changes
    plan = RunSchedule.of(settings(**watched), ToyBatches())
    return Monitors(plan, baselines=FLAT, patience=EarlyStopping(evaluations, by="score"), silent=silent)


def see(watched: Monitors, losses, *, start: int = 0) -> None:
    """Steps with these losses, one after the other, each judged by the limits there are."""
    for step, loss in enumerate(losses, start=start):
        outcome = StepOutcome({"a": loss}, {}, grad_norm=1.0, limits=watched.limits)
        watched.saw_step(outcome, before=TrainingProgress(step), now=TrainingProgress(step + 1))


def test_a_spike_is_told_with_its_batch_and_the_limit_it_broke(caplog):
    watched = watchers()
    assert watched.limits == NO_LIMITS
    see(watched, [LOW, LOW, HIGH])
    assert "step 3 left out: loss 100 (limit 1.06)" in caplog.text
    assert "batch 2" in caplog.text


def test_a_run_that_does_not_learn_is_told_of(caplog):
    see(watchers(), [6.0] * 400)
    assert caplog.text.count("so far the model does not learn") == 1


def test_warming_up_is_no_plateau(caplog):
    see(watchers(warmup=0.5), [6.0] * 400)
    assert "does not learn" not in caplog.text


def test_silent_ones_decide_alike_and_say_nothing(caplog):
    silent, loud = watchers(silent=True), watchers()
    for watched in (silent, loud):
        see(watched, [*[6.0] * 400, HIGH])
    assert silent.state() == loud.state()
    assert [record.getMessage()[:5] for record in caplog.records] == ["the a", "step "]


@pytest.mark.parametrize(
    ("policy", "skipped", "last", "expected"),
    [
        ("rollback", 3, HIGH, False),
        ("rollback", 4, HIGH, True),
        ("skip", 4, HIGH, True),
        ("ignore", 4, math.nan, True),
        ("stop", 0, LOW, False),
        ("stop", 1, HIGH, True),
        ("stop", 1, math.nan, False),
    ],
)
def test_spikes_are_too_many_at_once_or_in_a_row(policy, skipped, last, expected):
    watched = watchers(spikes={"policy": policy, "window": 4}, max_consecutive_skipped_steps=3)
    see(watched, [LOW, LOW, last])
    assert watched.too_many_spikes(TrainingProgress(3, skipped_in_a_row=skipped)) is expected


@pytest.mark.parametrize(
    ("policy", "rollbacks", "expected"),
    [("rollback", 0, True), ("rollback", 1, True), ("rollback", 2, False), ("skip", 0, False), ("stop", 0, False)],
)
def test_a_run_may_go_back_so_often_and_only_where_it_is_set(policy, rollbacks, expected):
    watched = watchers(spikes={"policy": policy, "max_rollbacks": 2})
    assert watched.may_go_back(TrainingProgress(rollbacks=rollbacks)) is expected


def test_evaluations_that_get_no_better_exhaust_the_patience():
    watched = watchers(evaluations=2)
    for score in (0.5, 0.6, 0.6):
        watched.saw_evaluation({"score": score})
        assert not watched.out_of_patience
    watched.saw_evaluation({"score": 0.6})
    assert watched.out_of_patience


def test_the_last_steps_are_written_down(tmp_path):
    watched = watchers()
    see(watched, [LOW, LOW, HIGH])
    watched.dump(tmp_path / "dump.json")
    steps = json.loads((tmp_path / "dump.json").read_text())["steps"]
    assert [(step["step"], step["batch"], step["applied"]) for step in steps] == [
        (1, 0, True),
        (2, 1, True),
        (3, 2, False),
    ]


def halfway() -> Monitors:
    """In the middle of everything: limits are known, a stretch is begun, an evaluation was waited for."""
    watched = watchers(evaluations=2)
    see(watched, [6.0, 6.1, 6.2])
    for score in (0.5, 0.4):
        watched.saw_evaluation({"score": score})
    return watched


def test_their_state_survives_a_file():
    watched, other = halfway(), watchers(evaluations=2)
    other.restore(json.loads(json.dumps(watched.state())))
    assert other.limits == watched.limits != Limits()
    for each in (watched, other):
        see(each, [6.0] * 397, start=3)
        each.saw_evaluation({"score": 0.5})
        assert each.out_of_patience
    assert other.state() == watched.state()


def test_one_that_a_checkpoint_does_not_know_begins_anew():
    """Checkpoints outlive the version that wrote them."""
    kept = {name: state for name, state in halfway().state().items() if name != "patience"}
    watched = halfway()
    watched.restore(kept)
    assert watched.state() == kept | {"patience": watchers(evaluations=2).state()["patience"]}
