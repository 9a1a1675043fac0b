"""What is due where, as a function of the position."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.errors import ConfigError
from litebert.training.loop.duration_converter import DurationConverter
from litebert.training.loop.progress import TrainingProgress
from litebert.training.loop.run_schedule import RunSchedule
from support.toy import ToyBatches, settings


def plan(**changes) -> RunSchedule:
    return RunSchedule.of(settings(**changes), ToyBatches())


@pytest.mark.parametrize(("step", "progress", "done"), [(0, 0, False), (3, 0.5, False), (6, 1, True), (9, 1, True)])
def test_progress_goes_from_nothing_to_everything(step, progress, done):
    assert plan().progress(TrainingProgress(step)) == progress
    assert plan().done(TrainingProgress(step)) is done


def test_the_rate_is_a_function_of_the_step():
    rates = [plan(warmup="2 steps", learning_rate=0.5).learning_rate(TrainingProgress(step)) for step in range(6)]
    assert rates == pytest.approx([0.25, 0.5, 0.5, 0.375, 0.25, 0.125])


@pytest.mark.parametrize(("meant_for", "peak"), [(None, 0.5), (ToyBatches().batch_size, 0.5)])
def test_without_another_batch_size_the_peak_is_the_learning_rate(meant_for, peak):
    assert plan(learning_rate=0.5, lr_reference_batch_size=meant_for).peak == peak


@given(scale=st.integers(1, 4096))
def test_the_rate_grows_with_the_root_of_the_batch(scale):
    """A rate meant for a batch, applied to one that is `scale` times as large, grows by the root of `scale`."""
    measure = replace(plan().measure, batch_size=8 * scale)
    scaled = replace(plan(learning_rate=0.01, lr_reference_batch_size=8), measure=measure)
    assert scaled.peak == pytest.approx(0.01 * scale**0.5)


def test_the_papers_rate_at_other_batches():
    """Source: table 4 of LAMB's paper; ALBERT's 0.00176 is its rate for 4,096, 5 / (2^1.5 · 1000), cut short."""
    peaks = {
        batch: replace(
            plan(learning_rate=5 / (2**1.5 * 1000), lr_reference_batch_size=4096), measure=DurationConverter(batch, 1)
        ).peak
        for batch in (512, 1024, 2048, 4096, 8192, 16384, 32768)
    }
    exponents = [3, 2.5, 2, 1.5, 1, 0.5, 0]
    assert list(peaks.values()) == pytest.approx([5 / (2**exponent * 1000) for exponent in exponents])


def test_the_rate_of_a_run_for_some_time_is_a_function_of_time():
    timed = plan(duration="10 seconds", warmup="2 seconds", learning_rate=1.0)
    assert timed.total_steps is None
    assert timed.learning_rate(TrainingProgress(step=7, seconds=1.0)) == pytest.approx(0.5)
    assert timed.learning_rate(TrainingProgress(step=7, seconds=6.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"duration": "512M examples", "warmup": "12.8M examples", "lr_reference_batch_size": 4096},
            "0.00176 scaled by sqrt(256/4096) to 0.00044; warm-up to step 50,000, then straight down to 0 at step "
            "2,000,000",
        ),
        ({"schedule": "constant"}, "0.00176; no warm-up, then constant to step 1,000"),
        (
            {"schedule": "cosine", "warmup": 0.1},
            "0.00176; warm-up to step 100, then down to 0 at step 1,000 along half a cosine",
        ),
        (
            {"schedule": {"shape": "polynomial", "power": 3}},
            "0.00176; no warm-up, then down to 0 at step 1,000 along a power of 3",
        ),
        (
            {"schedule": {"shape": "warmup_stable_decay", "decay_fraction": 0.5}, "warmup": "200 steps"},
            "0.00176; warm-up to step 200, then constant to step 600, then straight down to 0 at step 1,000",
        ),
        (
            {"schedule": "original", "warmup": 0.1},
            "0.00176; warm-up to step 100, then straight down to 0 at step 1,000 on the line from the first step, "
            "to which it jumps",
        ),
        (
            {"duration": "45 minutes", "warmup": 0.025},
            "0.00176; warm-up to 2.5 % of the run, then straight down to 0 at the end",
        ),
    ],
)
def test_the_rate_is_told_in_words(changes, told):
    usual = plan(**{"duration": "1000 steps", "learning_rate": 0.00176, **changes})
    batches = ToyBatches(batch_size=256)
    assert RunSchedule.of(usual.settings, batches).told() == told


def test_the_last_step_is_logged_evaluated_and_saved():
    last = TrainingProgress(5), TrainingProgress(6)
    rare = plan(log_every=4, checkpoint_every="4 steps")
    assert rare.logs(last[1])
    assert rare.evaluates(*last)
    assert rare.saves(*last)


def test_nothing_is_due_between():
    rare = plan(log_every=4, checkpoint_every="4 steps", evaluate_every="4 steps")
    assert not rare.logs(TrainingProgress(3))
    assert not rare.evaluates(TrainingProgress(2), TrainingProgress(3))
    assert not rare.saves(TrainingProgress(2), TrainingProgress(3))
    assert rare.evaluates(TrainingProgress(3), TrainingProgress(4))
    assert rare.saves(TrainingProgress(3), TrainingProgress(4))


def test_a_warm_up_that_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="warmup"):
        plan(warmup="5 minutes")
