"""A spike is skipped; after too many the run rolls back, then fails with what is needed to find the cause."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import DivergedError
from litebert.training.callbacks.callback import RunState, StepRecord
from litebert.training.callbacks.spike_detector import SpikeDetector
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.run_schedule import RunSchedule
from litebert.training.loop.step import NO_LIMITS, StepOutcome, UpdateLimits
from support.runs.callbacks import KilledError, killer
from support.runs.toy import ToyBatches, ToyModel, losses, rows, settings, train, weights

SPIKES = {"window": 4, "sigma_factor": 6.0}
LOUD = tuple((batch, 0) for batch in (9, 10, 11))


def record(loss: float, norm: float, limits: UpdateLimits = NO_LIMITS) -> StepRecord:
    outcome = StepOutcome({"a": loss}, {}, grad_norm=norm, limits=limits)
    return StepRecord(step=1, batch=0, learning_rate=0.1, outcome=outcome, metrics={})


def run_of(directory) -> RunState:
    schedule = RunSchedule.of(settings(), ToyBatches())
    return RunState(ToyModel(), directory, DistributedContext.current("cpu"), schedule)


def detector_after(values, **changes) -> SpikeDetector:
    detector = SpikeDetector(settings(spikes={"window": 8} | changes))
    for value in values:
        detector.update(record(value, 2 * value, detector.limits(["a"])))
    return detector


def test_spike_limits_begin_after_half_a_window():
    assert detector_after([1.0, 2.0, 3.0]).limits(["a"]) == NO_LIMITS
    assert detector_after([1.0, 2.0, 3.0, 4.0]).limits(["a"]) != NO_LIMITS


def test_spike_limit_is_six_deviations_above_the_mean():
    limits = detector_after([1.0, 2.0, 3.0, 4.0]).limits(["a"])
    assert limits.loss == pytest.approx(2.5 + 6 * math.sqrt(1.25))
    assert limits.grad_norm == pytest.approx(2 * limits.loss)


def test_spike_limits_depend_only_on_the_window():
    assert detector_after([50.0, *[1.0, 2.0] * 4]).limits(["a"]) == detector_after([1.0, 2.0] * 4).limits(["a"])


@given(st.floats(0.1, 100))
def test_spike_limit_of_constant_losses_is_above_them(value):
    assert detector_after([value] * 8).limits(["a"]).loss == pytest.approx(1.06 * value)


@pytest.mark.parametrize("every", [50, 100])
def test_steps_of_a_rare_objective_are_no_spikes(every):
    detector = SpikeDetector(settings())
    for step in range(5000):
        name, level = ("mlm", 7.0) if step % every == 0 else ("clm", 5.5)
        value = level + 0.05 * math.sin(step)
        limits = detector.limits([name])
        outcome = StepOutcome({name: value}, {}, grad_norm=value, limits=limits)
        assert outcome.applied
        detector.update(StepRecord(step=step, batch=step, learning_rate=0.1, outcome=outcome, metrics={}))


def test_steps_of_another_part_of_a_run_are_no_measure(tmp_path):
    detector, run = SpikeDetector(settings(spikes={"window": 8})), run_of(tmp_path)
    detector.on_train_begin(run)
    for value in [1.0, 1.1] * 4:
        detector.update(record(value, value))
    first = detector.limits(["a"])
    run.part = 1
    assert detector.limits(["a"]) == NO_LIMITS
    detector.update(record(2.0, 5.0))
    run.part = 0
    assert detector.limits(["a"]) == first


def test_spike_limits_ignore_values_that_are_not_finite():
    assert detector_after([1.0, 2.0, math.nan, 3.0, math.inf, 4.0]).limits(["a"]) == detector_after(
        [1.0, 2.0, 3.0, 4.0]
    ).limits(["a"])


@given(st.floats(1.5, 4))
def test_spike_limits_follow_a_lasting_change_within_a_window(level):
    detector = detector_after([1.0, 1.1] * 4)
    for _ in range(8):
        detector.update(record(level, 1.0, detector.limits(["a"])))
    assert detector.limits(["a"]).loss > level


def test_spike_limits_do_not_follow_an_explosion():
    assert detector_after([1.0, 1.1] * 4 + [1000.0] * 4).limits(["a"]).loss < 100


def test_spike_policy_none_has_no_limits():
    assert detector_after([1.0] * 8, policy="none").limits(["a"]) == NO_LIMITS


def test_spike_detector_state_survives_json_to_the_last_digit():
    detector = detector_after([0.1, 0.2, 0.3, 0.4 / 3])
    other = detector_after([])
    other.load_state_dict(json.loads(json.dumps(detector.state_dict())))
    assert other.limits(["a"]) == detector.limits(["a"])


def test_windows_of_a_checkpoint_with_one_for_all_objectives_fill_again():
    detector = detector_after([])
    detector.load_state_dict({"losses": [1.0] * 8, "grad_norms": [1.0] * 8})
    assert detector.limits(["a"]) == NO_LIMITS


def spiky(directory: Path, *, policy: str, broken=(), **changes):
    """Three spikes in a row from batch 9 on, none of which may change the weights."""
    fixed = {
        "duration": "16 steps",
        "checkpoint_every": "4 steps",
        "keep_checkpoints": 9,
        "max_consecutive_skipped_steps": 2,
    }
    spikes = SPIKES | {"policy": policy} | changes.pop("spikes", {})
    return train(directory, batches=ToyBatches(loud=LOUD, broken=broken), **(fixed | {"spikes": spikes} | changes))


def test_spike_policy_skip_counts_spikes_and_continues(tmp_path, caplog):
    _, result = spiky(tmp_path, policy="skip", max_consecutive_skipped_steps=3)
    assert (result.steps, result.skipped_steps) == (16, 3)
    assert [row["train/skipped_steps"] for row in rows(tmp_path)] == [0] * 9 + [1, 2, 3] + [3] * 4


def test_skipped_steps_are_warned_of_at_the_first_and_at_the_end_only(tmp_path, caplog):
    spiky(tmp_path, policy="skip", max_consecutive_skipped_steps=3)
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert warnings[0].startswith("step 10 skipped: loss ")
    assert warnings[1].startswith("3 steps were skipped up to step 16 ")


def test_spike_detector_warns_once_of_one_skipped_step(tmp_path, caplog):
    train(tmp_path, batches=ToyBatches(loud=((9, 0),)), duration="12 steps", spikes=SPIKES)
    assert [record.message.partition(":")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        "step 10 skipped"
    ]


def test_spike_policy_none_applies_spikes(tmp_path):
    _, result = spiky(tmp_path, policy="none")
    assert result.skipped_steps == 0


def test_checkpoint_that_was_due_in_skipped_steps_is_not_saved_after_a_rollback(tmp_path):
    """The interval of 4 steps ends at the 12th, which is a spike; the rollback returns to the 8th."""
    spiky(tmp_path, policy="rollback")
    saved = sorted(int(path.name.split("-")[1]) for path in (tmp_path / "checkpoints").glob("step-*"))
    assert saved == [4, 8, 12, 16]


def test_rollback_returns_to_the_checkpoint_before_the_spikes_and_skips_batches(tmp_path, caplog):
    _, result = spiky(tmp_path, policy="rollback")
    assert result.steps == 16
    assert "rollback: 3 steps in a row were skipped; from step 12 back to" in caplog.text
    seen = rows(tmp_path)
    assert [row["step"] for row in seen] == list(range(1, 17))
    assert [row["train/rollbacks"] for row in seen] == [0] * 8 + [1] * 8
    state = json.loads((tmp_path / "checkpoints" / "step-00000016" / "trainer_state.json").read_text())
    assert state["progress"]["skipped_batches"] == 4
    assert state["progress"]["skipped_steps"] == 3


def test_rollback_gives_the_weights_of_a_run_without_the_skipped_batches(tmp_path):
    """Same weights as a run whose batches 8 to 11 are taken out of the row."""

    class Without(ToyBatches):
        def microbatches(self, step):
            return super().microbatches(step if step < 8 else step + 4)

    model, _ = spiky(tmp_path / "rollback", policy="rollback")
    other, _ = train(tmp_path / "without", batches=Without(), duration="16 steps")
    assert torch.equal(weights(model), weights(other))


@pytest.mark.parametrize(
    ("hook", "step"), [("step", 10), ("step", 11), ("checkpoint", 8), ("step", 9), ("step", 14), ("checkpoint", 12)]
)
def test_resume_around_a_rollback_is_bit_exact(tmp_path, hook, step):
    model, _ = spiky(tmp_path / "whole", policy="rollback")
    with pytest.raises(KilledError):
        spiky(tmp_path / "cut", policy="rollback", callbacks=[killer(hook, step)])
    again, _ = spiky(tmp_path / "cut", policy="rollback")
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert torch.equal(weights(model), weights(again))


@pytest.mark.parametrize(
    ("policy", "changes", "step"),
    [
        ("skip", {}, 12),
        ("stop", {}, 10),
        ("rollback", {"spikes": {"max_rollbacks": 0}}, 12),
        ("rollback", {"checkpoint_every": "100 steps"}, 12),
    ],
)
def test_diverged_run_raises_diverged_error_with_a_dump(tmp_path, policy, changes, step):
    with pytest.raises(DivergedError, match=rf"at (3 steps in a row up to )?step {step}\. None") as stopped:
        spiky(tmp_path, policy=policy, **changes)
    path = Path(re.search(r"(\S+\.json)", str(stopped.value))[1])
    steps = json.loads(path.read_text())["steps"]
    assert [(row["step"], row["batch"], row["applied"]) for row in steps[-3:]] == [
        (number, number - 1, number < 10) for number in range(step - 2, step + 1)
    ]
    assert steps[-1]["grad_norm"] > steps[-1]["limits"]["grad_norm"]
    assert steps[-1]["losses"].keys() == {"class", "size"}


def test_rollbacks_are_limited_by_max_rollbacks(tmp_path):
    everywhere = tuple((batch, 0) for batch in range(9, 99))
    with pytest.raises(DivergedError, match="after 2 rollbacks"):
        train(
            tmp_path,
            batches=ToyBatches(broken=everywhere),
            duration="30 steps",
            checkpoint_every="4 steps",
            max_consecutive_skipped_steps=1,
        )


def test_spike_policy_stop_skips_steps_that_are_not_finite(tmp_path):
    batches = ToyBatches(broken=((3, 0),))
    _, result = train(tmp_path, batches=batches, spikes={"policy": "stop"}, duration="6 steps")
    assert result.skipped_steps == 1


def test_spike_dump_writes_nan_as_text(tmp_path):
    detector = detector_after([math.nan])
    path = tmp_path / "dump.json"
    detector.dump(path)
    assert json.loads(path.read_text())["steps"][0]["loss"] == "nan"


def test_spike_changes_no_weight(tmp_path):
    """The run with one loud batch, skipped, ends with the weights it has when that step is not done at all."""
    saved = {"duration": "10 steps", "checkpoint_every": "1 step", "keep_checkpoints": 20, "spikes": SPIKES}
    train(tmp_path, batches=ToyBatches(loud=((9, 0),)), **saved)
    nine, ten = (tmp_path / "checkpoints" / f"step-{step:08d}" / "litebert.safetensors" for step in (9, 10))
    assert nine.read_bytes() == ten.read_bytes()


@pytest.mark.parametrize("keep", [1, 2])
def test_checkpoints_of_skipped_steps_do_not_replace_the_one_of_a_rollback(tmp_path, keep):
    _, result = spiky(tmp_path, policy="rollback", keep_checkpoints=keep, checkpoint_every="1 steps")
    assert (result.steps, result.skipped_steps) == (16, 3)
