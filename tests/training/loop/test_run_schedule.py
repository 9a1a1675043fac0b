"""What is due at each step, as a function of the progress."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.training.loop.run_schedule import DurationConverter, RunSchedule, TrainingProgress
from support.runs.toy import ToyBatches, settings


def schedule(**changes) -> RunSchedule:
    return RunSchedule.of(settings(**changes), ToyBatches())


@pytest.mark.parametrize(("step", "fraction", "done"), [(0, 0, False), (3, 0.5, False), (6, 1, True), (9, 1, True)])
def test_run_schedule_fraction_goes_from_zero_to_one(step, fraction, done):
    assert schedule().fraction(TrainingProgress(step)) == fraction
    assert schedule().done(TrainingProgress(step)) is done


def test_learning_rate_is_a_function_of_the_step():
    rates = [schedule(warmup="2 steps", learning_rate=0.5).learning_rate(TrainingProgress(step)) for step in range(6)]
    assert rates == pytest.approx([0.25, 0.5, 0.5, 0.375, 0.25, 0.125])


@pytest.mark.parametrize(("meant_for", "peak"), [(None, 0.5), (ToyBatches().batch_size, 0.5)])
def test_peak_learning_rate_without_another_batch_size(meant_for, peak):
    assert schedule(learning_rate=0.5, lr_reference_batch_size=meant_for).peak == peak


@given(scale=st.integers(1, 4096))
def test_peak_learning_rate_scales_with_the_root_of_the_batch_size(scale):
    """A rate meant for a batch, applied to one that is `scale` times as large, grows by the square root of `scale`."""
    converter = replace(schedule().converter, batch_size=8 * scale)
    scaled = replace(schedule(learning_rate=0.01, lr_reference_batch_size=8), converter=converter)
    assert scaled.peak == pytest.approx(0.01 * scale**0.5)


def test_peak_learning_rate_equals_the_table_of_the_lamb_paper():
    """Source: table 4 of LAMB's paper; ALBERT's 0.00176 is its rate for 4,096, 5 / (2^1.5 · 1000), cut short."""
    peaks = {
        batch: replace(
            schedule(learning_rate=5 / (2**1.5 * 1000), lr_reference_batch_size=4096),
            converter=DurationConverter(batch, 1),
        ).peak
        for batch in (512, 1024, 2048, 4096, 8192, 16384, 32768)
    }
    exponents = [3, 2.5, 2, 1.5, 1, 0.5, 0]
    assert list(peaks.values()) == pytest.approx([5 / (2**exponent * 1000) for exponent in exponents])


def test_learning_rate_of_a_timed_run_is_a_function_of_time():
    timed = schedule(duration="10 seconds", warmup="2 seconds", learning_rate=1.0)
    assert timed.total_steps is None
    assert timed.learning_rate(TrainingProgress(step=7, seconds=1.0)) == pytest.approx(0.5)
    assert timed.learning_rate(TrainingProgress(step=7, seconds=6.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"duration": "512M examples", "warmup": "12.8M examples", "lr_reference_batch_size": 4096},
            "0.00176 scaled by sqrt(256/4096) to 0.00044; warm-up to step 50,000, then linear decay to 0 at step "
            "2,000,000",
        ),
        ({"schedule": "constant"}, "0.00176; no warm-up, then constant to step 1,000"),
        (
            {"schedule": "cosine", "warmup": 0.1},
            "0.00176; warm-up to step 100, then cosine decay to 0 at step 1,000",
        ),
        (
            {"schedule": {"type": "polynomial", "power": 3}},
            "0.00176; no warm-up, then polynomial decay to 0 at step 1,000 with power 3",
        ),
        (
            {"schedule": {"type": "warmup_stable_decay", "decay_fraction": 0.5}, "warmup": "200 steps"},
            "0.00176; warm-up to step 200, then constant to step 600, then linear decay to 0 at step 1,000",
        ),
        (
            {"schedule": "linear_tf", "warmup": 0.1},
            "0.00176; warm-up to step 100, then a jump to the linear decay from the first step to 0 at step 1,000",
        ),
        (
            {"duration": "45 minutes", "warmup": 0.025},
            "0.00176; warm-up to 2.5 % of the run, then linear decay to 0 at the end",
        ),
        (
            {"optimizer": "muon", "muon_learning_rate": 0.02},
            "0.02 for the matrices of muon, 0.00176 for the others (adamw); no warm-up, then linear decay to 0 at step "
            "1,000",
        ),
    ],
)
def test_run_schedule_describes_the_learning_rate(changes, expected):
    usual = schedule(**{"duration": "1000 steps", "learning_rate": 0.00176, **changes})
    batches = ToyBatches(batch_size=256)
    assert RunSchedule.of(usual.settings, batches).to_text() == expected


def test_run_schedule_logs_evaluates_and_saves_the_last_step():
    last = TrainingProgress(5), TrainingProgress(6)
    rare = schedule(log_every=4, checkpoint_every="4 steps")
    assert rare.logs(last[1])
    assert rare.evaluates(*last)
    assert rare.saves(*last)


def test_run_schedule_has_nothing_due_between_intervals():
    rare = schedule(log_every=4, checkpoint_every="4 steps", evaluate_every="4 steps")
    assert not rare.logs(TrainingProgress(3))
    assert not rare.evaluates(TrainingProgress(2), TrainingProgress(3))
    assert not rare.saves(TrainingProgress(2), TrainingProgress(3))
    assert rare.evaluates(TrainingProgress(3), TrainingProgress(4))
    assert rare.saves(TrainingProgress(3), TrainingProgress(4))


def test_run_schedule_refuses_a_warmup_longer_than_the_run():
    with pytest.raises(ConfigError, match="warmup"):
        schedule(warmup="5 minutes")


def test_second_rollback_leaves_out_the_batches_of_both():
    saved = TrainingProgress(step=4)
    once = TrainingProgress(step=8).rolled_back_to(saved)
    assert (once.step, once.batch, once.skipped_batches) == (4, 8, 4)
    twice = replace(once, step=6).rolled_back_to(saved)
    assert (twice.step, twice.batch, twice.rollbacks) == (4, 10, 2)
