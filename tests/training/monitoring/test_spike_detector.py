"""A spike is left out, then the run goes back, then it stops with all that is needed to find the cause."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from litebert.training.callbacks.events import Saved, StepDone

from litebert.errors import LitebertError
from litebert.training.callbacks.spike_detector import NO_LIMITS, Limits, SpikeDetector, SpikeSettings, StepReport
from support.events_that_kill import KilledError, killer
from support.toy import ToyBatches, losses, rows, train, weights

WATCHED = {"window": 4, "sigma_factor": 6.0}
LOUD = tuple((batch, 0) for batch in (9, 10, 11))


def report(loss: float, norm: float, limits: Limits = NO_LIMITS) -> StepReport:
    return StepReport(
        step=1,
        batch=0,
        applied=True,
        loss=loss,
        losses={"a": loss},
        grad_norm=norm,
        learning_rate=0.1,
        limits=limits,
    )


def watch(values, **changes) -> SpikeDetector:
    watched = SpikeDetector(SpikeSettings(**({"window": 8} | changes)))
    for value in values:
        watched.saw(report(value, 2 * value, watched.limits))
    return watched


def test_nothing_is_a_spike_before_half_a_window():
    assert watch([1.0, 2.0, 3.0]).limits == NO_LIMITS
    assert watch([1.0, 2.0, 3.0, 4.0]).limits != NO_LIMITS


def test_the_limit_is_six_deviations_above_the_mean():
    limits = watch([1.0, 2.0, 3.0, 4.0]).limits
    assert limits.loss == pytest.approx(2.5 + 6 * math.sqrt(1.25))
    assert limits.grad_norm == pytest.approx(2 * limits.loss)


def test_only_the_window_counts():
    assert watch([50.0, *[1.0, 2.0] * 4]).limits == watch([1.0, 2.0] * 4).limits


@given(st.floats(0.1, 100))
def test_numbers_that_do_not_move_leave_room(value):
    assert watch([value] * 8).limits.loss == pytest.approx(1.06 * value)


def test_what_is_not_finite_is_no_part_of_the_history():
    assert watch([1.0, 2.0, math.nan, 3.0, math.inf, 4.0]).limits == watch([1.0, 2.0, 3.0, 4.0]).limits


@given(st.floats(1.5, 4))
def test_a_lasting_change_is_learned_within_a_window(level):
    watched = watch([1.0, 1.1] * 4)
    for _ in range(8):
        watched.saw(report(level, 1.0, watched.limits))
    assert watched.limits.loss > level


def test_an_explosion_is_not_learned():
    assert watch([1.0, 1.1] * 4 + [1000.0] * 4).limits.loss < 100


def test_ignoring_has_no_limits():
    assert watch([1.0] * 8, policy="ignore").limits == NO_LIMITS


def test_its_state_survives_a_file_to_the_last_digit():
    watched = watch([0.1, 0.2, 0.3, 0.4 / 3])
    other = watch([])
    other.restore(json.loads(json.dumps(watched.state())))
    assert other.limits == watched.limits


def spiky(directory: Path, *, policy: str, broken=(), **changes):
    """Three spikes in a row from batch 9 on, none of which may change the weights."""
    fixed = {
        "duration": "16 steps",
        "checkpoint_every": "4 steps",
        "keep_checkpoints": 9,
        "max_consecutive_skipped_steps": 2,
    }
    spikes = WATCHED | {"policy": policy} | changes.pop("spikes", {})
    return train(directory, batches=ToyBatches(loud=LOUD, broken=broken), **(fixed | {"spikes": spikes} | changes))


def test_skipped_spikes_are_counted_and_the_run_goes_on(tmp_path, caplog):
    _, result = spiky(tmp_path, policy="skip", max_consecutive_skipped_steps=3)
    assert (result.steps, result.skipped_steps) == (16, 3)
    assert [row["train/skipped_steps"] for row in rows(tmp_path)] == [0] * 9 + [1, 2, 3] + [3] * 4
    assert caplog.text.count("left out: loss") == 3


def test_ignoring_lets_them_through(tmp_path):
    _, result = spiky(tmp_path, policy="ignore")
    assert result.skipped_steps == 0


def test_too_many_in_a_row_go_back_to_the_checkpoint_before_them_and_leave_their_batches_out(tmp_path, caplog):
    _, result = spiky(tmp_path, policy="rollback")
    assert result.steps == 16
    assert "3 steps in a row were not finite or spikes: back from step 12 to" in caplog.text
    seen = rows(tmp_path)
    assert [row["step"] for row in seen] == list(range(1, 17))
    assert [row["train/rollbacks"] for row in seen] == [0] * 8 + [1] * 8
    state = json.loads((tmp_path / "checkpoints" / "step-00000016" / "trainer_state.json").read_text())
    assert state["position"]["skipped_batches"] == 4
    assert state["position"]["skipped"] == 3


def test_after_going_back_the_run_is_the_one_that_never_had_these_batches(tmp_path):
    """Same weights as a run whose batches 8 to 11 are taken out of the row."""

    class Without(ToyBatches):
        def microbatches(self, step):
            return super().microbatches(step if step < 8 else step + 4)

    model, _ = spiky(tmp_path / "back", policy="rollback")
    other, _ = train(tmp_path / "without", batches=Without(), duration="16 steps")
    assert torch.equal(weights(model), weights(other))


@pytest.mark.parametrize(
    ("kind", "step"), [(StepDone, 10), (StepDone, 11), (Saved, 8), (StepDone, 9), (StepDone, 14), (Saved, 12)]
)
def test_a_run_killed_around_its_spikes_goes_on_bit_by_bit(tmp_path, kind, step):
    model, _ = spiky(tmp_path / "whole", policy="rollback")
    with pytest.raises(KilledError):
        spiky(tmp_path / "cut", policy="rollback", listeners=[killer(kind, step)])
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
def test_in_the_end_it_stops_with_a_dump_and_the_weights_of_before(tmp_path, policy, changes, step):
    with pytest.raises(LitebertError, match=rf"(at step|the last of them) {step}\. None of that") as stopped:
        spiky(tmp_path, policy=policy, **changes)
    path = Path(re.search(r"(\S+\.json)", str(stopped.value))[1])
    steps = json.loads(path.read_text())["steps"]
    assert [(row["step"], row["batch"], row["applied"]) for row in steps[-3:]] == [
        (number, number - 1, number < 10) for number in range(step - 2, step + 1)
    ]
    assert steps[-1]["grad_norm"] > steps[-1]["limits"]["grad_norm"]
    assert steps[-1]["losses"].keys() == {"class", "size"}


def test_going_back_has_an_end(tmp_path):
    everywhere = tuple((batch, 0) for batch in range(9, 99))
    with pytest.raises(LitebertError, match="after going back to a checkpoint 2 times"):
        train(
            tmp_path,
            batches=ToyBatches(broken=everywhere),
            duration="30 steps",
            checkpoint_every="4 steps",
            max_consecutive_skipped_steps=1,
        )


def test_stop_leaves_what_is_not_finite_to_be_skipped(tmp_path):
    batches = ToyBatches(broken=((3, 0),))
    _, result = train(tmp_path, batches=batches, spikes={"policy": "stop"}, duration="6 steps")
    assert result.skipped_steps == 1


def test_a_dump_says_nan_in_words(tmp_path):
    watched = watch([math.nan])
    assert json.loads(watched.dump(tmp_path / "dump.json").read_text())["steps"][0]["loss"] == "nan"


def test_a_single_spike_changes_no_weight(tmp_path):
    """The run with one loud batch, skipped, ends with the weights it has when that step is not done at all."""
    saved = {"duration": "10 steps", "checkpoint_every": "1 step", "keep_checkpoints": 20, "spikes": WATCHED}
    train(tmp_path, batches=ToyBatches(loud=((9, 0),)), **saved)
    nine, ten = (tmp_path / "checkpoints" / f"step-{step:08d}" / "model.safetensors" for step in (9, 10))
    assert nine.read_bytes() == ten.read_bytes()
